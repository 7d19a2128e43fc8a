# SPDX-License-Identifier: Apache-2.0
"""The answer of GET /allocation_candidates as JSON text.

PERF: an answer is a megabyte of few different lines. Building objects to be serialized takes five
times as long as filling the lines in.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any

import orjson

from trueup.model.candidates import Candidates, Part, Summaries
from trueup.model.requests import CandidateRequest
from trueup.placement.api.versions import V

_TRAIT_SETS_KEPT = 1024
"""How many different sets of traits are kept as text; few clouds have as many."""
_CANDIDATES_OF_A_BLOCK = 4096


def render(found: Candidates, asked: CandidateRequest, version: V) -> bytes:
    """The answer."""
    classes = None if version >= V.ALL_CLASSES else asked.resource_classes
    quoted = _Quoted()

    def tell(summaries: Summaries) -> Iterator[bytes]:
        return map(str.encode, _summaries(summaries, quoted, version, classes))

    # Since then a summary depends neither on the question nor on the version.
    summaries = found.summarized.told(tell, kept=version >= V.NESTED_CANDIDATES)
    return b"".join(
        (
            b'{"allocation_requests":[',
            *_blocks(found, quoted, version),
            b'],"provider_summaries":{',
            b",".join(summaries),
            b"}}",
        )
    )


def _blocks(found: Candidates, quoted: "_Quoted", version: V) -> Iterator[bytes]:
    """The candidates, some thousand at a time: texts of all at once would take much memory."""
    forms: dict[tuple[int, ...], _Form] = {}
    for first in range(0, len(found.choices), _CANDIDATES_OF_A_BLOCK):
        block = found.choices[first : first + _CANDIDATES_OF_A_BLOCK]
        columns = (map(found.uuids.__getitem__, column) for column in zip(*block, strict=True))
        rows = zip(*(map(quoted.__getitem__, column) for column in columns), strict=True)
        texts = []
        for choice, row in zip(block, rows, strict=True):
            meeting = tuple(map(choice.index, choice))
            form = forms.get(meeting)
            if form is None:
                form = forms[meeting] = _form(found.parts, meeting, version)
            texts.append(form.text % form.of(row))
        yield (b"," if first else b"") + ",".join(texts).encode()


@dataclass(frozen=True, slots=True)
class _Form:
    """What candidates look like in which the same parts meet on one provider."""

    text: str
    """With %s for each UUID in quotes."""
    of: Callable[[tuple[str, ...]], Any]
    """Which UUIDs are filled in, of those that give the parts of a candidate."""


def _form(parts: Sequence[Part], meeting: tuple[int, ...], version: V) -> _Form:
    """`meeting` has, for each part, the first part that the same provider gives."""
    amounts: dict[int, dict[str, int]] = {}
    satisfying: dict[str, list[int]] = {}
    for place, (suffix, resources) in zip(meeting, parts, strict=True):
        if place not in satisfying.setdefault(suffix, []):
            satisfying[suffix].append(place)
        for name, amount in resources:
            given = amounts.setdefault(place, {})
            given[name] = given.get(name, 0) + amount
    allocations = ",".join(_allocation(_literal(given), version) for given in amounts.values())
    places = list(amounts)
    if version < V.ALLOCATIONS_BY_PROVIDER:
        return _Form(f'{{"allocations":[{allocations}]}}', itemgetter(*places))
    text = f'"allocations":{{{allocations}}}'
    if version >= V.MAPPINGS:
        places += itertools.chain.from_iterable(satisfying.values())
        marks = {suffix: ",".join(["%s"] * len(found)) for suffix, found in satisfying.items()}
        mappings = (f"{_literal(suffix)}:[{marked}]" for suffix, marked in marks.items())
        text += f',"mappings":{{{",".join(mappings)}}}'
    return _Form(f"{{{text}}}", itemgetter(*places))


def _allocation(resources: str, version: V) -> str:
    if version < V.ALLOCATIONS_BY_PROVIDER:
        return f'{{"resource_provider":{{"uuid":%s}},"resources":{resources}}}'
    return f'%s:{{"resources":{resources}}}'


def _summaries(
    summaries: Summaries, quoted: "_Quoted", version: V, classes: frozenset[str] | None
) -> Iterator[str]:
    """`"uuid":{...}` for each provider, with some classes or all of them."""
    quote = quoted.__getitem__
    shown = [one for one in summaries.stocks if classes is None or one.name in classes]
    held = ",".join(f'{_literal(one.name)}:{{"capacity":%s,"used":%s}}' for one in shown)
    form = f'%s:{{"resources":{{{held}}}'
    columns: list[Iterable[Any]] = [map(quote, summaries.uuids)]
    for one in shown:
        columns += [one.capacities, one.used]
    if version >= V.CANDIDATE_TRAITS:
        form += ',"traits":%s'
        columns.append(map(_traits, summaries.traits))
    if version >= V.NESTED_CANDIDATES:
        form += ',"parent_provider_uuid":%s,"root_provider_uuid":%s'
        columns += [map(quote, summaries.parent_uuids), map(quote, summaries.root_uuids)]
    return map(f"{form}}}".__mod__, zip(*columns, strict=True))


class _Quoted(dict[str | None, str]):
    """By UUID: the same in quotes, made once for all its places in an answer."""

    def __missing__(self, uuid: str | None) -> str:
        text = self[uuid] = orjson.dumps(uuid).decode()
        return text


def _literal(value: Any) -> str:
    """JSON that stays as it is when something is filled in around it."""
    return orjson.dumps(value).decode().replace("%", "%%")


@lru_cache(_TRAIT_SETS_KEPT)
def _traits(names: tuple[str, ...]) -> str:
    return orjson.dumps(names).decode()
