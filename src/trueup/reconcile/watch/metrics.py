# SPDX-License-Identifier: Apache-2.0
"""The status of watching as Prometheus metrics. Every scrape sees one round, never half of two."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from trueup.reconcile.clock import now
from trueup.reconcile.verdicts import Severity
from trueup.reconcile.watch.status import RepairStatus, WatchStatus

CONTENT_TYPE = CONTENT_TYPE_LATEST
_PARTS = ("capacity", "right", "undecided", "phantom", "missing")
_STATES = ("answered", "partly", "behind", "silent")
_STOCK_PARTS = (
    ("total", "total", "Total of a resource class of a provider"),
    ("reserved", "reserved", "What is reserved of it"),
    ("used", "usage", "What consumers hold of it"),
    ("allocation_ratio", "allocation_ratio", "How often it may be allocated"),
)
_RESULTS = ("complete", "incomplete", "failed")


class StatusMetrics(Collector):
    """Collects what a function says that the status is."""

    def __init__(self, status: Callable[[], WatchStatus]) -> None:
        self._status = status
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        status = self._status()
        yield from _rounds(status)
        if status.repairs:
            yield from _repairs(status.repairs)
        # SAFETY: before a round has succeeded nothing is known, and 0 would say that nothing is.
        if status.last_success:
            yield from _findings(status)
            yield from _sources(status)
            yield _capacity(status)
            yield _reasons(status)
            yield from _placeables(status)
            yield from _stocks(status)


def _rounds(status: WatchStatus) -> Iterator[Metric]:
    rounds = CounterMetricFamily(
        "trueup_watch_rounds", "Rounds since the start, by how they ended", labels=["result"]
    )
    for result in _RESULTS:
        rounds.add_metric([result], status.rounds.get(result, 0))
    yield rounds
    notified = CounterMetricFamily(
        "trueup_watch_notifications", "Runs of the hook, by how they ended", labels=["result"]
    )
    for result in ("done", "failed"):
        notified.add_metric([result], status.notifications.get(result, 0))
    yield notified
    phases = GaugeMetricFamily(
        "trueup_watch_phase_seconds", "Seconds of each phase of the last round", labels=["phase"]
    )
    for name, seconds in status.phases.items():
        phases.add_metric([name], seconds)
    yield phases
    last = GaugeMetricFamily(
        "trueup_watch_last_success_timestamp_seconds",
        "When the last round that did not fail observed the cloud",
    )
    if status.last_success:
        last.add_metric([], _epoch(status.last_success))
    yield last


def _repairs(repairs: RepairStatus) -> Iterator[Metric]:
    stopped = GaugeMetricFamily(
        "trueup_watch_repairs_stopped",
        "1 while nothing is repaired until a person ends the stop, by its reason; else 0",
        labels=["reason"],
    )
    stop = repairs.state.stopped
    stopped.add_metric([stop.reason.name if stop else ""], float(stop is not None))
    yield stopped
    room = GaugeMetricFamily(
        "trueup_watch_repair_budget",
        "How many subjects repairs may still change in this hour, and in this day",
        labels=["period"],
    )
    for period, left in zip(("hour", "day"), repairs.room, strict=True):
        room.add_metric([period], left)
    yield room
    runs = CounterMetricFamily(
        "trueup_watch_repair_runs", "Repairs since the start, by how they ended", labels=["result"]
    )
    for result in ("done", "stopped", "unknown"):
        runs.add_metric([result], repairs.runs.get(result, 0))
    yield runs


def _findings(status: WatchStatus) -> Iterator[Metric]:
    found = GaugeMetricFamily(
        "trueup_watch_findings",
        "Findings; confirmed: two observations have them with the same evidence",
        labels=["defect", "severity", "confirmed"],
    )
    sightings = status.memory.sightings
    counts = Counter(
        (sighting.defect, sighting.severity, sighting.confirmed(status.confirm_after))
        for sighting in sightings
    )
    for (defect, severity, confirmed), count in sorted(counts.items()):
        found.add_metric([defect, severity.value, "yes" if confirmed else "no"], count)
    yield found
    total = GaugeMetricFamily(
        "trueup_watch_findings_by_severity", "Findings of each severity", labels=["severity"]
    )
    by_severity = Counter(sighting.severity for sighting in sightings)
    for severity in Severity:
        total.add_metric([severity.value], by_severity[severity])
    yield total
    returned = GaugeMetricFamily(
        "trueup_watch_returned_findings",
        "Findings that were gone in the last two weeks and came back: no repair of the ledger "
        "removes their cause",
        labels=["defect"],
    )
    returns = Counter(sighting.defect for sighting in sightings if sighting.returned)
    for defect, count in sorted(returns.items()):
        returned.add_metric([defect], count)
    yield returned
    oldest = GaugeMetricFamily(
        "trueup_watch_oldest_finding_age_seconds",
        "How long the oldest finding has been there, as far as its evidence or the watch tells",
    )
    began = [sighting.began for sighting in sightings]
    oldest.add_metric([], max(0.0, (now() - min(began)).total_seconds()) if began else 0.0)
    yield oldest
    last = next((past for past in reversed(status.memory.rounds) if past.state != "failed"), None)
    unchecked = GaugeMetricFamily(
        "trueup_watch_unchecked_subjects", "Subjects that could not be checked"
    )
    unchecked.add_metric([], last.unchecked if last else 0)
    yield unchecked


def _sources(status: WatchStatus) -> Iterator[Metric]:
    states = GaugeMetricFamily(
        "trueup_watch_source_state",
        "1 for the state of each source: answered, partly, behind or silent",
        labels=["source", "state"],
    )
    rows = GaugeMetricFamily(
        "trueup_watch_source_rows", "How many rows each source gave", labels=["source"]
    )
    for source in status.coverage:
        for state in _STATES:
            states.add_metric([source.source, state], float(source.state == state))
        rows.add_metric([source.source], source.rows)
    yield states
    yield rows


def _capacity(status: WatchStatus) -> Metric:
    amounts = GaugeMetricFamily(
        "trueup_watch_capacity",
        "Amounts of the whole cloud: its capacity, and what of it is held rightly, undecided, "
        "phantom (held, not used) or missing (used, not held)",
        labels=["resource_class", "part"],
    )
    for split in status.totals:
        for part in _PARTS:
            amounts.add_metric([split.resource_class, part], getattr(split, part))
    return amounts


def _reasons(status: WatchStatus) -> Metric:
    counts = GaugeMetricFamily(
        "trueup_watch_reasons",
        "Subjects that could not be checked or are left alone, and findings without a step, by the "
        "reason; each counts as every reason behind it, too",
        labels=["verdict", "reason"],
    )
    for (verdict, reason), count in sorted(status.reasons.items()):
        counts.add_metric([verdict, reason], count)
    return counts


def _placeables(status: WatchStatus) -> Iterator[Metric]:
    found = status.placeables
    counted = GaugeMetricFamily(
        "trueup_watch_placeable_counted",
        "1 if the last round counted how many servers fit; 0 if not, and the page says why",
    )
    # SAFETY: what is not counted has no value; 0 would say that nothing fits.
    if found is None or found.gap:
        counted.add_metric([], 0)
        yield counted
        return
    counted.add_metric([], 1)
    yield counted
    now, repaired = (
        GaugeMetricFamily(f"trueup_watch_placeable{suffix}", words, labels=["flavor", "zone"])
        for suffix, words in (
            ("", "How many more servers of a flavor fit in a zone"),
            ("_after_repair", "How many fit after the findings of the audit are repaired"),
        )
    )
    for row in found.rows:
        now.add_metric([row.flavor, row.zone], row.now)
        repaired.add_metric([row.flavor, row.zone], row.repaired)
    yield now
    yield repaired
    if found.failures is None:
        return
    failures = GaugeMetricFamily(
        "trueup_watch_host_failures",
        "Hosts whose servers all find room on others if it fails (absorbed), perhaps (uncertain), "
        "or not (lost)",
        labels=["result"],
    )
    for result in ("absorbed", "uncertain", "lost"):
        failures.add_metric([result], getattr(found.failures, result))
    yield failures


def _stocks(status: WatchStatus) -> Iterator[Metric]:
    """PARITY: the names and labels of openstack-exporter, which dashboards of the field use."""
    for part, name, words in _STOCK_PARTS:
        amounts = GaugeMetricFamily(
            f"openstack_placement_resource_{name}", words, labels=["hostname", "resourcetype"]
        )
        for stock in status.stocks:
            amounts.add_metric([stock.provider, stock.resource_class], getattr(stock, part))
        yield amounts


def _epoch(moment: datetime) -> float:
    return moment.replace(tzinfo=UTC).timestamp()
