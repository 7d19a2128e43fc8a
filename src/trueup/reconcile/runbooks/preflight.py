# SPDX-License-Identifier: Apache-2.0
"""Preflight: the checks of a runbook before it plans, and what follows from each."""

from dataclasses import dataclass
from enum import StrEnum

from trueup.reconcile.changes import permanent_in
from trueup.reconcile.plan import Plan
from trueup.reconcile.reasons import Reason


class Outlook(StrEnum):
    """What a check means for the runbook."""

    FINE = "ok"
    PLANNED = "planned"  # a step of the plan handles it
    BLOCKS = "blocks"  # nothing is planned until the operator has done what the check says


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was found. `then` says what the plan or the operator does about it."""

    part: str
    subject: str
    found: str | Reason
    outlook: Outlook
    then: str | Reason = ""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A runbook that is ready to be applied; its plan has no steps if a check blocks it.

    `purpose` is the reason of its own steps, as `retire:compute-07`.
    """

    purpose: str
    checks: tuple[Check, ...]
    plan: Plan

    @property
    def blocked(self) -> bool:
        return any(check.outlook is Outlook.BLOCKS for check in self.checks)

    @property
    def permanent(self) -> Reason | None:
        """Why its plan cannot be taken back once it is applied; None if it can."""
        return permanent_in(self.plan.steps)
