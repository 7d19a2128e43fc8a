# SPDX-License-Identifier: Apache-2.0
"""Undo: the inverse plan of a journal. It is applied like any other plan."""

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec.structs import replace

from trueup.reconcile.plan import Plan, in_reverse
from trueup.reconcile.runs.journal import Journal
from trueup.reconcile.steps import swapped


@dataclass(eq=False)
class StepUnknown(Exception):
    """The run has no such step, or it is not in place."""

    run: str
    step: str


@dataclass(eq=False)
class UndoOpen(Exception):
    """An interrupted undo may still take back this step of a run that is to continue."""

    step: str
    run: str


def inverse(journal: Journal, only: Iterable[str] = ()) -> Plan:
    """The inverse of the steps in place, last first; `only`: of these ids or numbers.

    A step is taken back only after all steps that need it: a parent is made again before its
    children, and children stay where their allocations stay. SAFETY: a contested step may be
    another client's work, and is taken back only if it is named. Raises StepUnknown.
    """
    in_place = {step.id: (step, outcome) for step, outcome in journal.in_place}
    numbers = {str(number): step.id for number, step in enumerate(journal.plan.steps, 1)}
    wanted = [numbers.get(name, name) for name in only]
    for name in wanted:
        if name not in in_place:
            raise StepUnknown(journal.run, name)
    every = [step_id for step_id, (_, outcome) in in_place.items() if not outcome.contested]
    chosen = [pair for step_id, pair in in_place.items() if step_id in (wanted or every)]
    steps = (
        replace(
            swapped(step, outcome.versions),
            needs=tuple(other.id for other, _ in chosen if step.id in other.needs),
        )
        for step, outcome in reversed(chosen)
    )
    return in_reverse(journal.plan, steps, journal.run)
