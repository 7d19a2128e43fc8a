# SPDX-License-Identifier: Apache-2.0
"""Freshness: whether a cell's database is up to date, or lags behind like a stopped replica. Pure.

SAFETY: two observations of a stopped replica agree with each other, so confirmation does not help.
But in such a database no compute service has reported lately, and that shows it.
"""

from dataclasses import replace
from datetime import timedelta

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

    def judged(source: SourceStatus) -> SourceStatus:
        moment = reported.get(source.source)
        if moment is None or source.source in options.cells_allowed_behind:
            return replace(source, behind="")
        age = facts.taken_at - moment
        behind = _words(age) if age > facts.service_down_time else ""
        return replace(source, behind=behind)

    sources = tuple(map(judged, facts.coverage.sources))
    if sources == facts.coverage.sources:
        return facts
    return replace(facts, coverage=replace(facts.coverage, sources=sources))


def _words(age: timedelta) -> str:
    seconds = int(age.total_seconds())
    told = f"{seconds // 60} minutes" if seconds >= _IN_MINUTES else f"{seconds} seconds"
    return f"its newest service report is {told} old; this may be a lagging replica"
