# SPDX-License-Identifier: Apache-2.0
"""Undo: a journal → the inverse plan, which is applied like any other."""

from dataclasses import replace

from trueup.reconcile.journal import Journal, Settled
from trueup.reconcile.plan import Plan, in_reverse
from trueup.reconcile.steps import Guard, Step


def inverse(journal: Journal) -> Plan:
    """The steps that were written, swapped, last first."""
    return in_reverse(
        journal.plan, (_swapped(step, settled) for step, settled in reversed(journal.done))
    )


def _swapped(step: Step, settled: Settled) -> Step:
    """From `after` back to `before`, if the consumer is still as this run left it.

    The generations of providers are not guarded: every other consumer moves them, and an undo may
    come long after. For the same reason `updated_at` of the instance is not.
    """
    mark = step.guard.instance
    return replace(
        step,
        before=step.after,
        after=step.before,
        guard=Guard(
            consumer_generation=settled.generation,
            instance=replace(mark, updated_at=None) if mark else None,
        ),
    )
