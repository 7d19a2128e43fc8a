# SPDX-License-Identifier: Apache-2.0
"""Freshness: whether what a cell's database says is of now, or of the past, as a replica's. Pure.

SAFETY: a replica that stands still agrees with itself at every look, and its services with it: in
such a cell none of them has reported lately.
"""

from dataclasses import replace
from datetime import timedelta

from trueup.reconcile.facts import Facts, SourceStatus
from trueup.reconcile.options import AuditOptions

# From so many seconds on, an age is said in minutes.
_IN_MINUTES = 120


def with_freshness(facts: Facts, options: AuditOptions) -> Facts:
    """These facts, with a coverage that says which cells may be behind.

    Cells without compute hosts are not judged: cell0 often has none but services long gone.
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
