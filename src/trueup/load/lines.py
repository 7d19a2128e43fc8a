# SPDX-License-Identifier: Apache-2.0
"""Requests in logs: Placement's own, upstream's and Trueup's, and those of web servers."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from trueup.shadow.reads import read_of

_FORMS = (
    # Placement's request log; with a time if [trueup] log_request_time is set.
    re.compile(
        r'(?P<client>\S+) "(?P<method>[A-Z]+) (?P<url>\S+)" status: (?P<status>\d+) len: \S+ '
        r"microversion: \S+(?: time: (?P<seconds>[\d.]+))?"
    ),
    # Apache and nginx. %D is microseconds, as Kolla has it after the size; $request_time seconds.
    re.compile(
        r'(?P<client>\S+) \S+ \S+ \[[^]]*\] "(?P<method>[A-Z]+) (?P<url>\S+) HTTP/[\d.]+" '
        r"(?P<status>\d{3}) (?:\d+|-)(?: (?P<microseconds>\d+)(?=\s|$))?"
        r'(?: "[^"]*" "[^"]*")?(?: (?:(?P<seconds>\d+\.\d+)|(?P<last>\d+)))?'
    ),
    # uWSGI.
    re.compile(
        r"\] (?P<client>\S+) \(.*?\) \{.*?\} \[.*?\] (?P<method>[A-Z]+) (?P<url>\S+) => generated "
        r"\d+ bytes in (?P<milliseconds>\d+) msecs \(HTTP/[\d.]+ (?P<status>\d{3})\)"
    ),
)
_UNITS = {"seconds": 1.0, "milliseconds": 1e-3, "microseconds": 1e-6, "last": 1e-6}


@dataclass(frozen=True, slots=True)
class Asked:
    """Requests of one client that were alike, and their seconds together; None: not known."""

    client: str
    method: str
    route: str
    status: str
    requests: int = 1
    seconds: float | None = None


def requests_in(lines: Iterable[str]) -> Iterator[Asked]:
    """The requests to the API in a log; every other line is passed over."""
    for line in lines:
        match = next(filter(None, (form.search(line) for form in _FORMS)), None)
        read = read_of(match["url"], None) if match else None
        if match and read:
            words = match.groupdict()
            times = (float(words[name]) * _UNITS[name] for name in _UNITS if words.get(name))
            client, method, status = match["client"], match["method"], match["status"]
            yield Asked(client, method, read.route, status, seconds=next(times, None))


_SAMPLE = re.compile(
    r"trueup_placement_request_seconds_(?P<part>count|sum)\{(?P<labels>[^}]*)\} (?P<value>\S+)"
)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


def requests_of_metrics(lines: Iterable[str]) -> Iterator[Asked]:
    """The requests that the metrics of Trueup's service count, of all clients together."""
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    for sample in filter(None, map(_SAMPLE.match, lines)):
        labels = dict(_LABEL.findall(sample["labels"]))
        key = labels.get("method", ""), labels.get("route", ""), labels.get("status", "")
        found.setdefault(key, {})[sample["part"]] = float(sample["value"])
    for (method, route, status), parts in found.items():
        yield Asked("", method, route, status, int(parts.get("count", 0)), parts.get("sum"))
