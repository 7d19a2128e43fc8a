# SPDX-License-Identifier: Apache-2.0
"""Missing allocation: a settled instance on a known host holds nothing at all.

Or its resize waits for confirmation, and has lost one or both of its claims.
`nova-manage placement heal_allocations` repairs some of these, but not dedicated processors that
the image asks for, nested providers and ports.
"""

from collections.abc import Iterator

from trueup.reconcile.expected import ExpectedAllocation, open_reasons, pinned_otherwise
from trueup.reconcile.facts import Allocations, Facts
from trueup.reconcile.reasons import Reason, because, together
from trueup.reconcile.remedies.full_replace import moves_evidence, same_status
from trueup.reconcile.remedies.guarded_steps import guarded_step
from trueup.reconcile.rules.claims import LostInMove, Missing, claim_of, claims
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Evidence,
    Finding,
    Need,
    Scope,
    Severity,
    Subject,
    Unchecked,
    Verdict,
    holding,
    instance_evidence,
)

NAME = "missing-allocation"
TITLE = "An instance runs on a host, and holds nothing"
REMEDY = "Allocate what its flavor, image and ports ask for on its host"
SEVERITIES = (Severity.HIGH,)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances without an allocation, and unconfirmed moves that lost a claim."""
    yield from (_judge(claim, facts) for claim in claims(facts, Missing))
    yield from (_judge_move(claim, facts) for claim in claims(facts, LostInMove))


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """Allocate everything that is missing, for the instance's project and user."""
    claim = claim_of(finding.subject.uuid, facts)
    if not isinstance(claim, Missing | LostInMove) or _open(claim, facts):
        return because("claim-unknown")
    instance = claim.instance
    after = {
        allocation.consumer: Allocations(allocation.known, instance.project, instance.user)
        for allocation in _lacking(claim)
    }
    moves = [claim.migration] if isinstance(claim, LostInMove) else []
    kept = same_status(move for move in moves if move.uuid not in after)
    return guarded_step(after, facts, finding, instance, kept)


def _lacking(claim: Missing | LostInMove) -> tuple[ExpectedAllocation, ...]:
    """What each consumer that holds nothing should hold."""
    return (claim.wanted,) if isinstance(claim, Missing) else claim.wanted


def _open(claim: Missing | LostInMove, facts: Facts) -> Reason | None:
    """Why it is not certain what should be held; None if it is certain."""
    names = facts.provider_names
    reasons = [open_reasons(allocation, names) for allocation in _lacking(claim)]
    if isinstance(claim, Missing):
        reasons.append(pinned_otherwise(claim.instance, claim.wanted))
    return together(reasons)


def _judge(claim: Missing, facts: Facts) -> Verdict:
    subject, names = Subject("instance", claim.instance.uuid), facts.provider_names
    if reason := _obstacle(claim, facts):
        return Unchecked(subject, claim.provider.name, because("holds-nothing", reason))
    return Finding(
        NAME,
        subject,
        claim.provider.name,
        Severity.HIGH,
        {
            "instance": instance_evidence(claim.instance, facts),
            "holds": (),
            "should_hold": holding(claim.wanted.known, names),
        },
    )


def to_be_deleted(claim: Missing) -> Reason | None:
    """Why the instance may be deleted already; or None.

    SAFETY: a restored cell database brings deleted instances back, and their mappings still say
    that they were to be deleted. A soft-deleted instance keeps what it holds.
    """
    mapping = claim.record.mapping
    if mapping is None or not mapping.queued_for_delete or claim.instance.soft_deleted:
        return None
    return because("queued-for-delete")


def _obstacle(claim: Missing, facts: Facts) -> Reason | None:
    """Why nothing may be allocated; None if it may."""
    return to_be_deleted(claim) or _open(claim, facts)


def _judge_move(claim: LostInMove, facts: Facts) -> Verdict:
    """SAFETY: nothing is released. Until the move is confirmed, both hosts keep its resources."""
    subject, names = Subject("instance", claim.instance.uuid), facts.provider_names
    of_move = [
        allocation for allocation in claim.wanted if allocation.consumer != claim.instance.uuid
    ]
    of_own = [
        allocation for allocation in claim.wanted if allocation.consumer == claim.instance.uuid
    ]
    where = ", ".join(
        sorted({names.get(uuid, uuid) for allocation in claim.wanted for uuid in allocation.known})
    )
    if reason := _open(claim, facts):
        lost = ("its migration",) * bool(of_move) + ("it",) * bool(of_own)
        said = because("claim-of-move-lost", reason, kind=claim.migration.kind, lost=lost)
        return Unchecked(subject, where, said)
    return Finding(
        NAME,
        subject,
        where,
        Severity.HIGH,
        {
            "instance": instance_evidence(claim.instance, facts),
            "migration": moves_evidence([claim.migration])[0],
            "holds": holding(claim.record.own, names),
            **_should_hold("should_hold", of_own, facts),
            **_should_hold("migration_should_hold", of_move, facts),
        },
        consumers=(claim.migration.uuid,),
    )


def _should_hold(label: str, lost: list[ExpectedAllocation], facts: Facts) -> Evidence:
    """As evidence under this label: what a consumer that lost its claim should hold."""
    rows = tuple(
        row for allocation in lost for row in holding(allocation.known, facts.provider_names)
    )
    return {label: rows} if lost else {}
