# SPDX-License-Identifier: Apache-2.0
"""The reads that clients sent to a Placement service, from its log. Writes are only counted."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urlencode

_CANDIDATES = "/allocation_candidates"

# A URL may have a prefix before the first of these, such as /placement.
_OF_THE_API = re.compile(
    r"/(?:allocation_candidates|allocations|resource_classes|resource_providers|traits|usages)"
    r"(?=[/?]|$)"
)
_FORMATS = (
    # Placement's request log, upstream's and Trueup's.
    re.compile(
        r'"(?P<method>[A-Z]+) (?P<url>\S+)" status: \d+ len: \S+ microversion: (?P<version>\S+)'
    ),
    # Apache and nginx, common and combined.
    re.compile(r'"(?P<method>[A-Z]+) (?P<url>\S+) HTTP/[\d.]+" \d{3}\b'),
    # uWSGI.
    re.compile(r"\] (?P<method>[A-Z]+) (?P<url>\S+) => generated \d+ bytes"),
)
_UNTOLD = "-"


@dataclass(frozen=True, slots=True)
class Read:
    """A GET of the API. Without a microversion, the service answers as at 1.0."""

    path: str
    """The path below the API's root, with the query."""
    microversion: str | None

    @property
    def route(self) -> str:
        """The template of the URL, such as /resource_providers/{}/inventories."""
        parts = self.path.partition("?")[0].strip("/").split("/")
        return "".join(f"/{part if number % 2 == 0 else '{}'}" for number, part in enumerate(parts))

    @property
    def is_of_candidates(self) -> bool:
        """Whether it asks for allocation candidates."""
        return self.route == _CANDIDATES

    def without_limit(self) -> "Read | None":
        """The same read for all candidates; None if it has no limit."""
        path, _, query = self.path.partition("?")
        pairs = parse_qsl(query, keep_blank_values=True)
        others = [(key, value) for key, value in pairs if key != "limit"]
        if not self.is_of_candidates or len(others) == len(pairs):
            return None
        return replace(self, path=f"{path}?{urlencode(others)}")


@dataclass(frozen=True, slots=True)
class Recorded:
    """The distinct reads of a log, and its numbers of reads and writes."""

    reads: tuple[Read, ...]
    lines_of_reads: int = 0
    lines_of_writes: int = 0


def recorded(lines: Iterable[str], newest: str) -> Recorded:
    """The reads of a log; those of a format without microversions get the newest one."""
    found: dict[Read, None] = {}
    reads = writes = 0
    for line in lines:
        match = next(filter(None, (form.search(line) for form in _FORMATS)), None)
        if match is None or match["method"] in ("HEAD", "OPTIONS"):
            continue
        if match["method"] != "GET":
            writes += 1
            continue
        version = match.groupdict().get("version", newest)
        read = read_of(match["url"], None if version == _UNTOLD else version)
        if read is not None:
            reads += 1
            found[read] = None
    return Recorded(tuple(found), reads, writes)


def read_of(url: str, microversion: str | None) -> Read | None:
    """The read of a URL or path; None if it is not a path of the API."""
    start = _OF_THE_API.search(url)
    return Read(url[start.start() :], microversion) if start else None
