# SPDX-License-Identifier: Apache-2.0
"""Compares the meaning of two answers. Pure.

Placement promises no order of its lists. The texts of errors are for people, and are not compared.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

_DIFFERENCES_MAX = 5
_LENGTH_MAX = 200
_ABSENT = "(absent)"
_REQUESTS, _SUMMARIES = "allocation_requests", "provider_summaries"


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, a body (parsed JSON, or a text), and the response time."""

    status: int
    body: Any
    seconds: float


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where two answers differ, and each answer's value there."""

    where: str
    upstream: str
    trueup: str


def is_same(one: Answer, other: Answer) -> bool:
    """Whether two answers mean the same."""
    return one.status == other.status and _meaning(one.body) == _meaning(other.body)


def differences(upstream: Answer, trueup: Answer) -> tuple[Difference, ...]:
    """The first places where two answers differ."""
    if upstream.status != trueup.status:
        return (Difference("status", str(upstream.status), str(trueup.status)),)
    found = _between("", _meaning(upstream.body), _meaning(trueup.body))
    return tuple(islice(found, _DIFFERENCES_MAX))


def is_same_choice(limited: Answer, other: Answer, everything: Answer) -> bool:
    """Whether two limited answers have equally many candidates, all from the whole answer."""
    every = set(_texts(everything))
    chosen = [_texts(answer) for answer in (limited, other)]
    known = everything.body.get(_SUMMARIES, {})
    return (
        limited.status == other.status == everything.status == 200
        and len(chosen[0]) == len(chosen[1])
        and all(every >= set(texts) for texts in chosen)
        and all(
            _meaning(summary) == _meaning(known.get(uuid))
            for answer in (limited, other)
            for uuid, summary in answer.body.get(_SUMMARIES, {}).items()
        )
    )


def _texts(candidates: Answer) -> list[str]:
    body = candidates.body if isinstance(candidates.body, Mapping) else {}
    return [_text(_meaning(candidate)) for candidate in body.get(_REQUESTS, [])]


def _meaning(value: Any) -> Any:
    """The value with its lists sorted, and errors reduced to status and code."""
    if isinstance(value, Mapping):
        if isinstance(value.get("errors"), list):
            return [(error.get("status"), error.get("code")) for error in value["errors"]]
        return {key: _meaning(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return sorted(map(_meaning, value), key=_text)
    return value


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _between(where: str, upstream: Any, trueup: Any) -> Iterator[Difference]:
    if isinstance(upstream, dict) and isinstance(trueup, dict):
        for key in sorted(upstream.keys() | trueup.keys()):
            place = f"{where}/{key}" if where else key
            yield from _between(place, upstream.get(key, _ABSENT), trueup.get(key, _ABSENT))
    elif isinstance(upstream, list) and isinstance(trueup, list):
        theirs, ours = (Counter(map(_text, entries)) for entries in (upstream, trueup))
        if theirs != ours:
            yield Difference(where or "the list", _only(theirs - ours), _only(ours - theirs))
    elif upstream != trueup:
        yield Difference(where or "the body", _short(_text(upstream)), _short(_text(trueup)))


def _only(texts: Counter[str]) -> str:
    if not texts:
        return "nothing else"
    return _short(f"{texts.total()} only here, such as {min(texts)}")


def _short(text: str) -> str:
    return text if len(text) <= _LENGTH_MAX else f"{text[:_LENGTH_MAX]}…"
