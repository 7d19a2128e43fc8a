# SPDX-License-Identifier: Apache-2.0
"""What a client wants to read: the Accept header, by the grammar of RFC 9110.

PARITY: a header that breaks the grammar is as good as `*/*`, and a range with parameters is none
of the types of this service.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_VALUE = rf'(?:{_TOKEN}|"(?:[^"\\]|\\.)*")'
_NEXT = r"[ \t]*;[ \t]*"
_RANGE = (
    rf"(?P<type>{_TOKEN}/{_TOKEN})"
    rf"(?P<parameters>(?:{_NEXT}(?![qQ]=){_TOKEN}={_VALUE})*)"
    rf"(?:{_NEXT}[qQ]=(?P<weight>0(?:\.[0-9]{{0,3}})?|1(?:\.0{{0,3}})?)"
    rf"(?:{_NEXT}{_TOKEN}(?:={_VALUE})?)*)?"
)
_ONE = re.compile(_RANGE)
_UNNAMED = re.sub(r"\?P<\w+>", "?:", _RANGE)
_ALL = re.compile(rf"(?:,|{_UNNAMED})(?:[ \t]*,(?:[ \t]*{_UNNAMED})?)*")


def quality(accept: str, media_type: str) -> float:
    """How much a client with this header likes a type: from 0, not at all, to 1."""
    ranges = _ranges(accept)
    # What is said most precisely counts.
    for name in (media_type, f"{media_type.partition('/')[0]}/*", "*/*"):
        if name in ranges:
            return ranges[name]
    return 0.0


# PERF: a service meets a handful of headers.
@lru_cache(maxsize=256)
def _ranges(accept: str) -> Mapping[str, float]:
    """The weight of each range; of one that is repeated, the first."""
    if accept and not _ALL.fullmatch(accept):
        return {"*/*": 1.0}
    ranges: dict[str, float] = {}
    for found in _ONE.finditer(accept):
        if not found["parameters"]:
            ranges.setdefault(found["type"].lower(), float(found["weight"] or 1))
    return ranges
