# SPDX-License-Identifier: Apache-2.0
"""Residue of a migration: it is over, and its consumer still holds resources.

Drift B.2 to B.6, Launchpad 1715182, 1712850, 1821594, 1848343: during a move the migration's
consumer holds the source and the instance's the target. Where the request that gives the claims
back is lost, the wrong one of them may hold what is right.
"""

from collections.abc import Iterator, Mapping

from trueup.reconcile.claims import HeldByMigration, claim_of, claims
from trueup.reconcile.expected import agrees
from trueup.reconcile.facts import Allocations, Amounts, Facts, InstanceRecord
from trueup.reconcile.findings import (
    Declined,
    Finding,
    Severity,
    Structure,
    Subject,
    Unchecked,
    Verdict,
    amounts_in_words,
    holding,
    instance_evidence,
)
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.remedies import guarded_step
from trueup.reconcile.steps import Step

NAME = "migration-residue"
TITLE = "Its migration is over, and the migration still holds resources"
REMEDY = "Give the instance what is right on its host, and release what its migrations hold"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances, a migration of which holds something."""
    return (_judge(claim, facts) for claim in claims(facts, HeldByMigration))


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """One request that gives all of these claims their right owner (drift B.6)."""
    claim = claim_of(finding.subject.uuid, facts)
    right = _right(claim) if isinstance(claim, HeldByMigration) else None
    if right is None or not isinstance(claim, HeldByMigration):
        return Declined("none of its claims is what it should hold")
    instance = claim.instance
    held = facts.holdings[instance.uuid].allocations
    project, user = (held.project, held.user) if held else (instance.project, instance.user)
    kind = held.consumer_type if held else None
    after: dict[str, Allocations | None] = {
        instance.uuid: Allocations(right, project, user, kind),
        **dict.fromkeys(claim.record.moves),
    }
    return (guarded_step(after, facts, finding, instance),)


def _judge(claim: HeldByMigration, facts: Facts) -> Verdict:
    record, names, right = claim.record, facts.provider_names, _right(claim)
    where = ", ".join(sorted({_where(held, facts) for held in record.moves.values()}))
    subject = Subject("instance", claim.instance.uuid)
    if right is None or not facts.coverage.complete:
        reason = facts.coverage.gap or (
            f"none of these is what it should hold on {claim.provider.name}: "
            f"{amounts_in_words(claim.wanted.known, names) or 'that is not known'}"
        )
        return Unchecked(subject, where, f"{_in_words(record, names)}; {reason}")
    return Finding(
        NAME,
        subject,
        where,
        Severity.HIGH,
        {
            "instance": instance_evidence(claim.instance, facts),
            "migrations": tuple(_migration(record, uuid) for uuid in record.moves),
            "holds": holding(record.own, names),
            "migrations_hold": tuple(
                row for held in record.moves.values() for row in holding(held, names)
            ),
            "should_hold": holding(right, names),
        },
        since=max((row.updated_at for row in record.migrations if row.updated_at), default=None),
        consumers=tuple(sorted(record.moves)),
    )


def _right(claim: HeldByMigration) -> Amounts | None:
    """The one of its claims that is what it should hold; its own, if that is."""
    if not claim.wanted.known:
        return None
    every = (claim.held, *claim.record.moves.values())
    return next((held for held in every if agrees(held, claim.wanted)), None)


def _migration(record: InstanceRecord, uuid: str) -> Structure:
    row = record.migration(uuid)
    return {
        "uuid": uuid,
        "kind": row.kind,
        "status": row.status,
        "source_host": row.source_host,
        "target_host": row.target_host,
    }


def _in_words(record: InstanceRecord, names: Mapping[str, str]) -> str:
    moves = (
        f"its {record.migration(uuid).kind}, which is {record.migration(uuid).status}, "
        f"holds {amounts_in_words(held, names)}"
        for uuid, held in record.moves.items()
    )
    return "; ".join((f"holds {amounts_in_words(record.own, names) or 'nothing'}", *moves))


def _where(held: Amounts, facts: Facts) -> str:
    names = facts.provider_names
    return ", ".join(sorted(names.get(root, root) for root in facts.roots_of(held)))
