# SPDX-License-Identifier: Apache-2.0
"""Freshness: whether a cell's database is up to date, or lags behind like a stopped replica. Pure.

SAFETY: two observations of a stopped replica agree with each other, so confirmation does not help.
But in such a database no compute service has reported lately, and that shows it. "Lately" is by our
clock or by Placement's, whichever is later: a clock that is behind would hide the lag. Placement
tells the time by its newest allocation of a host of the cell.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from trueup.reconcile.facts import Facts, SourceStatus
from trueup.reconcile.options import AuditOptions

# From this many seconds on, an age is given in minutes.
_IN_MINUTES = 120


def with_freshness(facts: Facts, options: AuditOptions) -> Facts:
    """These facts, with a coverage that says which cells may be behind.

    Cells without compute hosts are not judged: cell0 often has only services that are long gone.
    """
    with_hosts = {row.cell for row in facts.compute_nodes}
    reported = {
        facts.cells[cell]: moment for cell, moment in facts.heartbeats.items() if cell in with_hosts
    }
    written = {facts.cells[cell]: moment for cell, moment in _written(facts).items()}

    def judged(source: SourceStatus) -> SourceStatus:
        moment = reported.get(source.source)
        if moment is None or source.source in options.cells_allowed_behind:
            return replace(source, behind="")
        newest = written.get(source.source, facts.taken_at)
        age = max(facts.taken_at, newest) - moment
        if age <= facts.service_down_time:
            return replace(source, behind="")
        return replace(source, behind=_words(age, by_ledger=newest > facts.taken_at))

    sources = tuple(map(judged, facts.coverage.sources))
    if sources == facts.coverage.sources:
        return facts
    return replace(facts, coverage=replace(facts.coverage, sources=sources))


def _written(facts: Facts) -> dict[str, datetime]:
    """When an allocation of any host of each cell was last written, by the cell's uuid."""
    newest: dict[str, datetime] = {}
    for node in facts.compute_nodes if facts.ledger_writes else ():
        for row in facts.trees.get(node.uuid, ()):
            moment = facts.ledger_writes.get(row.uuid)
            if moment is not None and moment > newest.get(node.cell, datetime.min):
                newest[node.cell] = moment
    return newest


def _words(age: timedelta, by_ledger: bool) -> str:
    seconds = int(age.total_seconds())
    length = f"{seconds // 60} minutes" if seconds >= _IN_MINUTES else f"{seconds} seconds"
    since = " older than Placement's newest allocation of its hosts" if by_ledger else " old"
    return f"its newest service report is {length}{since}; this may be a lagging replica"
