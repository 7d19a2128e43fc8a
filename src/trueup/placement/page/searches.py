# SPDX-License-Identifier: Apache-2.0
"""The last searches for candidates that found nothing, as the log of the service has them.

The service writes a line for each, with `[trueup] log_empty_searches`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

from trueup.placement.api.handlers.candidates import EMPTY_SEARCH

SHOWN_MAX = 100
# How much of the end of a log is read.
_BYTES_MAX = 1 << 25
_LINE = re.compile(
    re.escape(EMPTY_SEARCH).replace("%s", "(.+?)").removesuffix("(.+?)") + r"(?P<query>\S+)$"
)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
# What makes two requests for the same flavor differ: where they may go, and how many are wanted.
_OF_ONE_REQUEST = ("limit", "in_tree", "member_of")


@dataclass(frozen=True, slots=True)
class Shape:
    """Searches that ask for the same: how often they found nothing, when last, and why."""

    asked: str
    reason: str
    filter: str
    query: str
    count: int
    last: str


def last_searches(path: Path) -> list[Shape]:
    """The searches of the end of a log, the last first. Raises OSError."""
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - _BYTES_MAX))
        text = log.read().decode(errors="replace")
    return shapes(text.splitlines())


def shapes(lines: Iterable[str]) -> list[Shape]:
    """The searches of these lines by what they ask for and why, the last first."""
    found: dict[tuple[str, str], Shape] = {}
    for line in lines:
        match = _LINE.search(line)
        if match is None:
            continue
        reason, decisive, query = match[1], match[2], match["query"]
        key = (_shape(query), reason)
        known = found.pop(key, None)
        count = known.count + 1 if known else 1
        time = _TIME.search(line)
        found[key] = Shape(key[0], reason, decisive, query, count, time[0] if time else "")
    return [*found.values()][::-1][:SHOWN_MAX]


def _shape(query: str) -> str:
    """What a query asks for, without what is of one request only."""
    pairs = parse_qsl(query, keep_blank_values=True)
    kept = [pair for pair in pairs if not pair[0].startswith(_OF_ONE_REQUEST)]
    return " ".join(f"{key}={value}" for key, value in sorted(kept, reverse=True))
