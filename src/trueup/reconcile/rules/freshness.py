# SPDX-License-Identifier: Apache-2.0
"""Freshness: whether a cell's database is up to date, or lags behind like a stopped replica. Pure.

SAFETY: two observations of a stopped replica agree with each other, so confirmation does not help.
But in such a database no compute service has reported lately. "Lately" is by the latest of our
clock, the database's and Placement's: a clock that is behind would hide the lag. Placement's time
is that of its newest allocation of a host of the cell.

A cell that has compute nodes, and in which no service ever reported, counts as behind. Nova's API
gives no times, so it allows no judgement of cells.

If our clock were ahead, services that are up would look down. So no cell is judged by such a clock
either.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from trueup.reconcile.clock import oldest_age
from trueup.reconcile.facts import Facts, SourceStatus
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.verdicts import AuditOptions

_DATABASE = "database"


def with_freshness(facts: Facts, options: AuditOptions) -> Facts:
    """These facts, with a coverage that names the cells that may be behind.

    Cells without compute hosts are not judged: cell0 often has only services of long ago.
    """
    with_hosts = {facts.cells[row.cell] for row in facts.compute_nodes}
    reported = {facts.cells[cell]: moment for cell, moment in facts.heartbeats.items()}
    clocks = {facts.cells[cell]: ahead for cell, ahead in facts.clocks_ahead.items()}
    written = {facts.cells[cell]: moment for cell, moment in _written(facts).items()}

    def judged(source: SourceStatus) -> SourceStatus:
        return replace(source, lag=lag(source))

    def lag(source: SourceStatus) -> Reason | None:
        if source.source not in with_hosts or source.source in options.cells_allowed_behind:
            return None
        moment = reported.get(source.source)
        if moment is None:
            return because("never-reported") if source.read_via == _DATABASE else None
        ahead, down_after = clocks.get(source.source), facts.service_down_time
        if ahead is not None and -ahead > down_after / 2:
            return because("clock-ahead", ahead=_seconds(-ahead))
        newest = written.get(source.source, datetime.min)
        age = oldest_age(moment, facts.taken_at, ahead)
        if max(age, newest - moment) <= down_after:
            return None
        if newest - moment > age:
            return because("reports-older-than-ledger", age=_seconds(newest - moment))
        return because("reports-old", age=_seconds(age))

    sources = tuple(map(judged, facts.coverage.sources))
    if sources == facts.coverage.sources:
        return facts
    return replace(facts, coverage=replace(facts.coverage, sources=sources))


def _written(facts: Facts) -> dict[str, datetime]:
    """When an allocation of any host of a cell was last written, by the cell's uuid."""
    newest: dict[str, datetime] = {}
    for node in facts.compute_nodes if facts.ledger_writes else ():
        for row in facts.trees.get(node.uuid, ()):
            moment = facts.ledger_writes.get(row.uuid)
            if moment is not None and moment > newest.get(node.cell, datetime.min):
                newest[node.cell] = moment
    return newest


def _seconds(age: timedelta) -> int:
    return round(age.total_seconds())
