# SPDX-License-Identifier: Apache-2.0
"""The metrics: names, labels and buckets. No label has a UUID, a name, or text from a client."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from trueup.placement.meter import Meter

PREFIX = "trueup_placement"

_METHODS = frozenset({"GET", "POST", "PUT", "DELETE"})
_OTHER = "other"
"""The label of unknown methods, and of URLs without a route."""


@dataclass(frozen=True, slots=True)
class _Count:
    text: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Level:
    text: str
    over_workers: Literal["livesum", "livemin", "livemax"]
    """How the values of the workers are combined."""


@dataclass(frozen=True, slots=True)
class _Seconds:
    text: str
    labels: tuple[str, ...]
    buckets: tuple[float, ...]


_COUNTERS: Mapping[str, _Count] = {
    "request_statements": _Count("SQL statements that requests sent.", ("method", "route")),
    "transaction_restarts": _Count("Transactions that started again.", ("reason",)),
    "transactions_given_up": _Count("Transactions that met other writers at every attempt."),
    "view_foreign_writes": _Count("Comparisons that found writes of another service."),
    "view_damaged": _Count("Comparisons that found a view wrong where no service has written."),
    "candidates_searches": _Count("Searches for candidates, by result.", ("result",)),
    "candidates_empty": _Count(
        "Searches without a candidate, by the deciding filter.", ("reason",)
    ),
    "candidates_limited": _Count("Searches that stopped at a limit.", ("limit",)),
}

_GAUGES: Mapping[str, _Level] = {
    "database_connections": _Level("Open connections to the database.", "livesum"),
    "database_connections_max": _Level("Connections that the pools may open.", "livesum"),
    "view_compared_timestamp_seconds": _Level(
        "When a worker last read or compared the whole ledger; the earliest of all workers.",
        "livemin",
    ),
    "view_providers": _Level("Resource providers in the view of the ledger.", "livemax"),
    "view_skipped_rows": _Level("Broken rows that candidates leave out.", "livemax"),
}

_HISTOGRAMS: Mapping[str, _Seconds] = {
    "request_seconds": _Seconds(
        "Seconds until a request was answered.",
        ("method", "route", "status"),
        (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
    ),
    "view_read_seconds": _Seconds(
        "Seconds in which the view of the ledger was loaded, refreshed or compared.",
        ("kind",),
        (0.0025, 0.01, 0.05, 0.25, 1.0, 2.5, 5.0, 10.0, 30.0),
    ),
}


class _Statements(threading.local):
    """The statements of the request that this thread answers."""

    count = 0


class PrometheusMeter(Meter):
    """Adds to metrics of prometheus_client, whose values are in the files of this process."""

    def __init__(self) -> None:
        # A scrape reads the files; this registry only keeps the library from its global one.
        self._registry = CollectorRegistry()
        self._counters = {
            name: Counter(f"{PREFIX}_{name}", count.text, count.labels, registry=self._registry)
            for name, count in _COUNTERS.items()
        }
        self._histograms = {
            name: Histogram(
                f"{PREFIX}_{name}",
                seconds.text,
                seconds.labels,
                registry=self._registry,
                buckets=seconds.buckets,
            )
            for name, seconds in _HISTOGRAMS.items()
        }
        self._gauges: dict[str, Gauge] = {}
        self._making = threading.Lock()
        self._statements = _Statements()
        # PERF: finding a metric by its labels takes as long as adding to it.
        self._of_answer: dict[tuple[str, str, str], tuple[Histogram, Counter]] = {}

    def request_begins(self) -> None:
        self._statements.count = 0

    def request_answered(self, method: str, route: str, status: str, seconds: float) -> None:
        key = (method, route, status)
        metrics = self._of_answer.get(key)
        if metrics is None:
            labels = (method if method in _METHODS else _OTHER, route or _OTHER)
            metrics = (
                self._histograms["request_seconds"].labels(*labels, status),
                self._counters["request_statements"].labels(*labels),
            )
            # SAFETY: clients must not fill this cache.
            if route and method in _METHODS:
                self._of_answer[key] = metrics
        metrics[0].observe(seconds)
        if self._statements.count:
            metrics[1].inc(self._statements.count)

    def statement_sent(self) -> None:
        self._statements.count += 1

    def connections_open(self, count: int, most: int | None) -> None:
        self._set("database_connections", count)
        if most is not None:
            self._set("database_connections_max", most)

    def transaction_restarted(self, reason: str) -> None:
        self._counters["transaction_restarts"].labels(reason).inc()

    def transaction_given_up(self) -> None:
        self._counters["transactions_given_up"].inc()

    def view_read(self, kind: str, seconds: float) -> None:
        self._histograms["view_read_seconds"].labels(kind).observe(seconds)
        if kind != "refresh":
            self._set("view_compared_timestamp_seconds", time.time())

    def view_shows(self, providers: int, skipped_rows: int) -> None:
        self._set("view_providers", providers)
        self._set("view_skipped_rows", skipped_rows)

    def foreign_writes_found(self) -> None:
        self._counters["view_foreign_writes"].inc()

    def view_damaged(self) -> None:
        self._counters["view_damaged"].inc()

    def candidates_found(self, count: int, limited_by: str | None) -> None:
        self._counters["candidates_searches"].labels("some" if count else "none").inc()
        if limited_by is not None:
            self._counters["candidates_limited"].labels(limited_by).inc()

    def candidates_lacking(self, reason: str) -> None:
        self._counters["candidates_empty"].labels(reason).inc()

    def _set(self, name: str, value: float) -> None:
        # Created at its first value: a worker without one must not count as 0.
        with self._making:
            if name not in self._gauges:
                self._gauges[name] = Gauge(
                    f"{PREFIX}_{name}",
                    _GAUGES[name].text,
                    registry=self._registry,
                    multiprocess_mode=_GAUGES[name].over_workers,
                )
        self._gauges[name].set(value)
