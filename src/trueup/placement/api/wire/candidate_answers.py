# SPDX-License-Identifier: Apache-2.0
"""The answer of GET /allocation_candidates as JSON text.

PERF: an answer is a megabyte of lines of few kinds. Building objects and serializing them takes
five times as long as filling values into templates of these lines; filling in columns is faster
still.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from trueup.model.candidates import (
    CandidateColumns,
    Candidates,
    ProviderSummaries,
    RequestSlot,
    SummaryColumns,
)
from trueup.model.requests import CandidateRequest
from trueup.placement.api.http import Parts
from trueup.placement.api.versions import V
from trueup.placement.api.wire.columns import encoded, joined, of_each
from trueup.placement.api.wire.summary_cache import MISSING, SummaryCache

_TRAIT_SETS_KEPT = 1024
"""The number of different trait sets that are cached as text; few clouds have as many."""
_CANDIDATES_OF_A_BLOCK = 4096
_MARK = "\n"
"""A placeholder for a UUID; JSON has no line break."""


def render(found: Candidates, asked: CandidateRequest, version: V, cache: SummaryCache) -> Parts:
    """The answer, with texts of summaries from the cache."""
    quoted = _Quoted()
    if version >= V.NESTED_CANDIDATES:
        summaries = _cached_summaries(found.summaries, quoted, version, cache)
    else:
        # Before this microversion, a summary depends on the version and on the request.
        classes = None if version >= V.ALL_CLASSES else asked.resource_classes
        every = range(len(found.summaries.revisions))
        summaries = [
            text
            for columns in found.summaries.columns(every)
            for text in _summaries(columns, quoted, version, classes)
        ]
    start, between = b'{"allocation_requests":[', b'],"provider_summaries":{'
    return Parts((start, *_blocks(found, version), between), summaries, b"}}")


def _cached_summaries(
    summaries: ProviderSummaries, quoted: "_Quoted", version: V, cache: SummaryCache
) -> list[bytes]:
    texts = cache.get(summaries.revisions)
    if MISSING not in texts:
        return texts
    missing = [index for index, text in enumerate(texts) if text == MISSING]
    uuids: list[str] = []
    revisions: list[int] = []
    rendered: list[bytes] = []
    for columns in summaries.columns(missing):
        uuids += columns.uuids
        revisions += map(summaries.revisions.__getitem__, columns.indexes)
        made = list(_summaries(columns, quoted, version, None))
        rendered += made
        for index, text in zip(columns.indexes, made, strict=True):
            texts[index] = text
    cache.add(uuids, revisions, rendered)
    return texts


def _blocks(found: Candidates, version: V) -> Iterator[bytes]:
    """The candidates, some thousand at a time, to limit memory."""
    templates: dict[tuple[int, ...], _Template] = {}
    for first in range(0, found.count, _CANDIDATES_OF_A_BLOCK):
        last = min(first + _CANDIDATES_OF_A_BLOCK, found.count)
        text = _block(found, found.columns(first, last), version, templates)
        yield (b"," if first else b"") + text


def _block(
    found: Candidates,
    block: CandidateColumns,
    version: V,
    templates: dict[tuple[int, ...], "_Template"],
) -> bytes:
    columns = [encoded(column) for column in block.uuids]
    texts = [b""] * len(block.indexes)
    last = 0
    for pattern, count in block.patterns:
        template = templates.get(pattern)
        if template is None:
            template = templates[pattern] = _template(found.request_slots, pattern, version)
        first, last = last, last + count
        pieces: list[bytes | list[bytes]] = [template.texts[0]]
        for slot, text in zip(template.slots, template.texts[1:], strict=True):
            pieces += [columns[slot][first:last], text]
        if count == len(texts):
            return joined(pieces, count)
        for index, text in zip(block.indexes[first:last], of_each(pieces, count), strict=True):
            texts[index] = text
    return b",".join(texts)


@dataclass(frozen=True, slots=True)
class _Template:
    """The text of all candidates in which the same slots have the same provider."""

    slots: tuple[int, ...]
    """The slots whose UUIDs, in quotes, are filled in."""
    texts: tuple[bytes, ...]
    """The texts before the first UUID, after it, and so on."""


def _template(slots: Sequence[RequestSlot], first_slots: tuple[int, ...], version: V) -> _Template:
    """`first_slots` has, for each slot, the first slot with the same provider."""
    amounts: dict[int, dict[str, int]] = {}
    satisfying: dict[str, list[int]] = {}
    for number, (suffix, resources) in zip(first_slots, slots, strict=True):
        if number not in satisfying.setdefault(suffix, []):
            satisfying[suffix].append(number)
        for name, amount in resources:
            of_provider = amounts.setdefault(number, {})
            of_provider[name] = of_provider.get(name, 0) + amount
    numbers = list(amounts)
    allocations = ",".join(_allocation(_literal(part), version) for part in amounts.values())
    if version < V.ALLOCATIONS_BY_PROVIDER:
        return _split(f'{{"allocations":[{allocations}]}}', numbers)
    text = f'"allocations":{{{allocations}}}'
    if version >= V.MAPPINGS:
        numbers += itertools.chain.from_iterable(satisfying.values())
        marks = {suffix: ",".join([_MARK] * len(found)) for suffix, found in satisfying.items()}
        mappings = (f"{_literal(suffix)}:[{marked}]" for suffix, marked in marks.items())
        text += f',"mappings":{{{",".join(mappings)}}}'
    return _split(f"{{{text}}}", numbers)


def _split(text: str, slots: Sequence[int]) -> _Template:
    return _Template(tuple(slots), tuple(text.encode().split(_MARK.encode())))


def _allocation(resources: str, version: V) -> str:
    if version < V.ALLOCATIONS_BY_PROVIDER:
        return f'{{"resource_provider":{{"uuid":{_MARK}}},"resources":{resources}}}'
    return f'{_MARK}:{{"resources":{resources}}}'


def _summaries(
    summaries: SummaryColumns, quoted: "_Quoted", version: V, classes: frozenset[str] | None
) -> Iterator[bytes]:
    """`"uuid":{...}` for each provider, with some resource classes or all of them."""
    quote = quoted.__getitem__
    shown = [
        inventory
        for inventory in summaries.inventories
        if classes is None or inventory.name in classes
    ]
    names = (_literal(inventory.name).replace("%", "%%") for inventory in shown)
    resources = ",".join(f'{name}:{{"capacity":%s,"used":%s}}' for name in names)
    template = f'%s:{{"resources":{{{resources}}}'
    columns: list[Iterable[Any]] = [map(quote, summaries.uuids)]
    for inventory in shown:
        columns += [inventory.capacities, inventory.used]
    if version >= V.CANDIDATE_TRAITS:
        template += ',"traits":%s'
        columns.append(map(_traits, summaries.traits))
    if version >= V.NESTED_CANDIDATES:
        template += ',"parent_provider_uuid":%s,"root_provider_uuid":%s'
        columns += [map(quote, summaries.parent_uuids), map(quote, summaries.root_uuids)]
    return map(str.encode, map(f"{template}}}".__mod__, zip(*columns, strict=True)))


class _Quoted(dict[str | None, str]):
    """By UUID: the UUID in quotes, made once for all its occurrences in an answer."""

    def __missing__(self, uuid: str | None) -> str:
        text = self[uuid] = orjson.dumps(uuid).decode()
        return text


def _literal(value: Any) -> str:
    return orjson.dumps(value).decode()


@lru_cache(_TRAIT_SETS_KEPT)
def _traits(names: tuple[str, ...]) -> str:
    return orjson.dumps(names).decode()
