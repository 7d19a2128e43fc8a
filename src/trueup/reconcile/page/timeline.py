# SPDX-License-Identifier: Apache-2.0
"""The timeline of a page: what the journals of runs say, and the audit that makes the page. Pure.

Audits and plans leave no record of their own. A journal holds the plan of its run, and so the times
of the plan and of the two observations that it was made from.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from trueup.reconcile.audit import Audit
from trueup.reconcile.report.tables import step_result
from trueup.reconcile.runs.journal import Journal
from trueup.reconcile.runs.journals import Unreadable
from trueup.reconcile.wording import counted

EventKind = Literal["audit", "plan", "run", "undo", "unreadable"]
_RESULTS = ("done", "refused", "unknown", "open", "taken back")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. `at` is None where the journal cannot be read."""

    at: datetime | None
    kind: EventKind
    what: str
    run: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """What happened to this cloud, the newest first; `foreign` is how many runs are of others.

    `unresolved` are the runs with steps that may or may not have been written.
    """

    events: tuple[Event, ...]
    foreign: int = 0
    unresolved: tuple[str, ...] = ()


def timeline(
    audit: Audit, cells: Iterable[str], journals: Iterable[Journal | Unreadable]
) -> Timeline:
    """The timeline of the cloud with these cells, by uuid."""
    ours, events, foreign = sorted(cells), [_audited(audit)], 0
    unresolved: list[str] = []
    for journal in journals:
        if isinstance(journal, Unreadable):
            events.append(
                Event(None, "unreadable", f"cannot be read: {journal.reason}", journal.run)
            )
        elif list(journal.plan.cells) != ours:
            foreign += 1
        else:
            events += _events(journal)
            if any(journal.fate_open(step) for step in journal.plan.steps):
                unresolved.append(journal.run)
    return Timeline(
        tuple(sorted(dict.fromkeys(events), key=_newest_first)), foreign, tuple(unresolved)
    )


def _newest_first(event: Event) -> tuple[bool, float]:
    return event.at is not None, -event.at.timestamp() if event.at else 0.0


def _audited(audit: Audit) -> Event:
    found = counted(len(audit.findings), "finding")
    return Event(audit.taken_at, "audit", f"the audit of this page: {found}")


def _events(journal: Journal) -> Iterator[Event]:
    plan = journal.plan
    if plan.undoes is None:
        # A run has the name of its plan, and a number; a later run has the plan at other versions.
        name, _, _ = journal.run.rpartition("-")
        steps = f"{counted(len(plan.steps), 'step')} for {counted(len(plan.findings), 'finding')}"
        yield Event(plan.first_at, "audit", f"first observation of plan {name}")
        yield Event(plan.made_at, "plan", f"plan {name}: {steps}")
    kind: EventKind = "undo" if plan.undoes else "run"
    by = ", ".join(dict.fromkeys(origin.account for origin in journal.origins))
    results = Counter(step_result(step, journal) for step in plan.steps)
    ended = ", ".join(f"{results[name]} {name}" for name in _RESULTS if results[name])
    undoes = f"takes back {plan.undoes}: " if plan.undoes else ""
    what = f"{undoes}{ended or 'no step'}" + (f", by {by}" if by else "")
    yield Event(journal.began_at, kind, what, journal.run)
