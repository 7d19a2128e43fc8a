# SPDX-License-Identifier: Apache-2.0
"""Requests, summed up; and the clients that ask more often than others of their kind."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from trueup.load.lines import Asked, requests_in

# A nova-compute asks for the parts of its own providers, in each of its rounds.
_PERIODIC = "/resource_providers"
# Fewer clients tell nothing of what is usual, and fewer requests nothing of a client.
_CLIENTS_MIN, _REQUESTS_MIN = 3, 50
_TIMES_USUAL = 4
# How much of the end of a log is read for a page, and how many rows it has.
_BYTES_MAX, _ROWS_MAX = 1 << 25, 20


@dataclass(frozen=True, slots=True)
class Share:
    """What those with equal values asked: requests, seconds if known, and the shares of both."""

    values: tuple[str, ...]
    requests: int
    requests_share: float
    seconds: float | None
    seconds_share: float | None


@dataclass(frozen=True, slots=True)
class Busy:
    """A client whose periodic reads are far more than those that are usual in this log."""

    client: str
    reads: int
    usual: float


@dataclass(frozen=True, slots=True)
class Load:
    """What the end of a log says: who asks most, what is asked most, and who asks too often."""

    clients: Sequence[Share]
    routes: Sequence[Share]
    busy: Sequence[Busy]


def load_of(log: Path) -> Load:
    """The load in the end of a log. Raises OSError."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _BYTES_MAX))
        asked = list(requests_in(file.read().decode(errors="replace").splitlines()))
    clients, routes = (shares(asked, [field])[:_ROWS_MAX] for field in ("client", "route"))
    return Load(clients, routes, list(busy(asked)))


def shares(asked: Iterable[Asked], by: Sequence[str]) -> list[Share]:
    """Who asked how much, by these fields; first who takes most time, or else asks most often."""
    requests: Counter[tuple[str, ...]] = Counter()
    seconds: dict[tuple[str, ...], float] = {}
    timed = True
    for request in asked:
        values = tuple(_value(request, field) for field in by)
        requests[values] += request.requests
        # Seconds of a part of the requests would be a wrong share.
        timed = timed and request.seconds is not None
        seconds[values] = seconds.get(values, 0.0) + (request.seconds or 0.0)
    every, whole = sum(requests.values()), sum(seconds.values())
    found = [
        Share(
            values,
            number,
            number / every,
            seconds[values] if timed else None,
            seconds[values] / whole if timed and whole else None,
        )
        for values, number in requests.items()
    ]
    return sorted(found, key=lambda share: (-(share.seconds or 0), -share.requests, share.values))


def _value(asked: Asked, field: str) -> str:
    if field == "route":
        return f"{asked.method} {asked.route}"
    return str(getattr(asked, field))


def busy(asked: Iterable[Asked]) -> Iterator[Busy]:
    """The clients that read the parts of providers abnormally often, the busiest first."""
    reads: Counter[str] = Counter()
    for request in asked:
        if request.method == "GET" and request.route.startswith(_PERIODIC):
            reads[request.client] += request.requests
    if len(reads) < _CLIENTS_MIN:
        return
    usual = median(reads.values())
    for client, number in reads.most_common():
        if number >= _REQUESTS_MIN and number > usual * _TIMES_USUAL:
            yield Busy(client, number, usual)
