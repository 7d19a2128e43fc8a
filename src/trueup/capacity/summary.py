# SPDX-License-Identifier: Apache-2.0
"""Counts for pages and for metrics: every flavor by zone, and which failures are absorbed."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from trueup.capacity import words
from trueup.capacity.after import after_repair
from trueup.capacity.asked import Asked, NotAskable
from trueup.capacity.counting import By, Later, capacity
from trueup.capacity.relocation import Outcome, survived
from trueup.reconcile.audit import Observation
from trueup.reconcile.facts import LIBVIRT, NEUTRON, Facts
from trueup.reconcile.page.placeable import Failures, Placeable, Placeables
from trueup.reconcile.report.reasons import in_words

# What only these know is not counted in any case.
_OF_NO_HOST = (NEUTRON, LIBVIRT)
# PERF: one host after the other is taken away, and all that is on it is placed anew.
FAILURES_MAX = 3000


def summary(seen: Observation, kinds: Iterable[Asked | NotAskable]) -> Placeables:
    """The counts of what was observed, which has all hosts of the cloud."""
    facts, every = seen.facts, tuple(kinds)
    asked = [kind for kind in every if isinstance(kind, Asked)]
    refused = [kind for kind in every if isinstance(kind, NotAskable)]
    later = Later(repaired=after_repair(facts, seen.audit))
    by_zone = capacity(asked, facts, By.ZONE, later)
    # Zones may share pools: what fits in all is not what fits in each.
    in_all = capacity(asked, facts, By.CLOUD, Later()) if facts.sharing else by_zone
    total: dict[str, int] = {}
    for row in in_all.rows:
        total[row.asked.name] = total.get(row.asked.name, 0) + row.now.fits
    remarks = [words.POLICY, words.left_out(by_zone)]
    remarks += (f"{kind.name} is not counted: {in_words(kind.reason)}." for kind in refused)
    return Placeables(
        rows=tuple(
            Placeable(
                flavor=row.asked.name,
                zone=row.group,
                now=row.now.fits,
                repaired=(row.repaired or row.now).fits,
                hosts=row.now.hosts,
                at_most=bool(row.gaps),
                binds=words.bindings(row.binds),
            )
            for row in by_zone.rows
        ),
        in_all=total,
        failures=_failures(facts),
        remarks=tuple(remark for remark in remarks if remark),
    )


def gap_of(facts: Facts) -> str:
    """Why nothing is counted; empty: all hosts of the cloud are there.

    SAFETY: a silent cell would look as if its room were gone.
    """
    if facts.hosts_in_scope is not None:
        return "only a part of the cloud was selected"
    sources = tuple(row for row in facts.coverage.sources if row.source not in _OF_NO_HOST)
    return in_words(replace(facts.coverage, sources=sources).gap)


def _failures(facts: Facts) -> Failures | None:
    """What becomes of each single host; None: there are too many to try each."""
    if len(facts.compute_nodes) > FAILURES_MAX:
        return None
    outcomes = Counter(failure.outcome for failure in survived(facts, 1))
    return Failures(**{outcome.value: outcomes[outcome] for outcome in Outcome})
