# SPDX-License-Identifier: Apache-2.0
"""Which steps may be written without a person: the proofs, and the terms of the policies. Pure.

SAFETY: a defect is here only if what proves it is a row that a service has, and not that something
is absent or silent; that row is read again right before the write.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trueup.reconcile.facts import InstanceState
from trueup.reconcile.plan.policy_file import InForce
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.steps import (
    AllocationsOf,
    CellFresh,
    DomainIs,
    MigrationState,
    NodeIs,
    Step,
    VersionIs,
)

# The defects that are repaired without a person, and what proves each of them.
PROOFS: Mapping[str, str] = {
    "orphaned-allocation": "Its cell has the row of the instance, with the time of its deletion",
    "shelved-allocation": "Its cell has the row of the instance, which is shelved and offloaded, "
    "and on no host",
    "migration-residue": "Nova has the record of the migration, which is over, and the row of the "
    "instance, which names its host",
    "missing-allocation": "Its cell has the row of the instance, which names its host and what it "
    "is to hold, and Placement answers that it holds nothing",
}

# Guards that read again a row that a service has. Others say that something is absent or silent.
_OF_ROWS = (InstanceState, MigrationState, VersionIs, CellFresh, DomainIs, NodeIs)


@dataclass(eq=False)
class NotAutomatic(Exception):
    """No policy lets anything be repaired without a person, or one of them forbids it."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Terms:
    """What all policies in force permit together: of each number the strictest."""

    rounds: int
    per_hour: int
    per_day: int
    findings_share: float
    pauses: tuple[Path, ...]


def terms_of(policies: Sequence[InForce]) -> Terms:
    """The terms of all policies. Raises NotAutomatic.

    SAFETY: each of them has to permit it, or one that is named by an option would permit more.
    """
    if not policies:
        raise NotAutomatic(because("repair-without-policy"))
    budgets = []
    for named in policies:
        if (budget := named.policy.automatic) is None:
            raise NotAutomatic(because("repair-not-in-policy", policy=named.path))
        if persons := named.policy.approval.required:
            raise NotAutomatic(because("repair-needs-approval", policy=named.path, persons=persons))
        budgets.append(budget)
    return Terms(
        rounds=max(budget.rounds for budget in budgets),
        per_hour=min(budget.subjects_per_hour for budget in budgets),
        per_day=min(budget.subjects_per_day for budget in budgets),
        findings_share=min(budget.findings_share for budget in budgets),
        pauses=tuple(dict.fromkeys(Path(budget.pause) for budget in budgets)),
    )


def unproven(step: Step) -> Reason | None:
    """Why a step is not for a machine alone; None if it may be written without a person."""
    defects = {reason.partition(":")[0] for reason in step.because}
    if unknown := sorted(defects - PROOFS.keys()):
        return because("repair-without-proof", defect=unknown[0])
    if not all(isinstance(change.target, AllocationsOf) for change in step.changes):
        return because("repair-not-allocations")
    if not any(isinstance(guard, InstanceState) for guard in step.guards):
        return because("repair-unguarded")
    if not all(isinstance(guard, _OF_ROWS) for guard in step.guards):
        return because("repair-on-silence")
    return None
