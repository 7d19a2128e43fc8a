# SPDX-License-Identifier: Apache-2.0
"""Requests in logs: Placement's own, upstream's and Trueup's, and those of web servers."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from trueup.shadow.reads import read_of

_PLACEMENT, _APACHE, _UWSGI = "Placement", "Apache, nginx", "uWSGI"
_FORMS = {
    # Its request log; with a time if [trueup] log_request_time is set.
    _PLACEMENT: re.compile(
        r'(?P<client>\S+) "(?P<method>[A-Z]+) (?P<url>\S+)" status: (?P<status>\d+) len: \S+ '
        r"microversion: \S+(?: time: (?P<seconds>[\d.]+))?"
    ),
    # %D is microseconds, as Kolla has it after the size; $request_time seconds.
    _APACHE: re.compile(
        r'(?P<client>\S+) \S+ \S+ \[[^]]*\] "(?P<method>[A-Z]+) (?P<url>\S+) HTTP/[\d.]+" '
        r"(?P<status>\d{3}) (?:\d+|-)(?: (?P<microseconds>\d+)(?=\s|$))?"
        r'(?: "[^"]*" "[^"]*")?(?: (?:(?P<seconds>\d+\.\d+)|(?P<last>\d+)))?'
    ),
    _UWSGI: re.compile(
        r"\] (?P<client>\S+) \(.*?\) \{.*?\} \[.*?\] (?P<method>[A-Z]+) (?P<url>\S+) => generated "
        r"\d+ bytes in (?P<milliseconds>\d+) msecs \(HTTP/[\d.]+ (?P<status>\d{3})\)"
    ),
}
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
    """The requests to the API in a log, summed up; every other line is passed over.

    Where uWSGI's own lines go into Placement's log, each request has two lines. Those count that
    say how long it took.
    """
    found: dict[str, dict[Asked, Asked]] = {form: {} for form in _FORMS}
    for line in lines:
        for form, pattern in _FORMS.items():
            if match := pattern.search(line):
                _add(found[form], match)
                break
    if found[_PLACEMENT] and found[_UWSGI]:
        timed = all(one.seconds is not None for one in found[_PLACEMENT].values())
        found[_UWSGI if timed else _PLACEMENT].clear()
    for alike in found.values():
        yield from alike.values()


def _add(found: dict[Asked, Asked], match: re.Match[str]) -> None:
    read = read_of(match["url"], None)
    if not read:
        return
    words = match.groupdict()
    times = (float(words[name]) * _UNITS[name] for name in _UNITS if words.get(name))
    seconds = next(times, None)
    kind = Asked(match["client"], match["method"], read.route, match["status"], 0)
    before = found.get(kind, replace(kind, seconds=0.0))
    known = before.seconds is not None and seconds is not None
    found[kind] = replace(
        before,
        requests=before.requests + 1,
        seconds=(before.seconds or 0.0) + (seconds or 0.0) if known else None,
    )


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
