# SPDX-License-Identifier: Apache-2.0
"""Residue of a migration: it is over, and its consumer still holds resources.

Launchpad 1715182, 1712850, 1821594, 1848343: during a move the migration's consumer holds the
source, and the instance's consumer holds the target. If the request that ends this is lost, the
right amounts may belong to the wrong consumer.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta

from trueup.reconcile.expected import Unknown, agrees
from trueup.reconcile.facts import Allocations, Amounts, Facts, InstanceRecord, last_change
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.full_replace import (
    amounts_verdict,
    full_replace,
    guests_on,
    moves_evidence,
    running_source,
    same_status,
    sources_down,
)
from trueup.reconcile.remedies.guarded_steps import guarded_step
from trueup.reconcile.rules.claims import (
    HeldByMigration,
    OnHostOfMove,
    claim_of,
    claims,
    moved_between,
)
from trueup.reconcile.rules.should_hold import host_share_unknown, not_spare, should_hold
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
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

# Nova first records that a move is over. Its next request releases what the move's consumer holds.
# So many seconds may pass between the two.
_RELEASING_SECONDS = 10

NAME = "migration-residue"
TITLE = "A migration is over, and its consumer still holds resources"
REMEDY = "Let the instance hold what it should on its host, and release what its migrations hold"
SEVERITIES = (Severity.HIGH, Severity.MEDIUM)
NEEDS = (Need.COMPLETE,)
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances whose migrations hold resources, or that hold both hosts of a move."""
    yield from (_judge(claim, facts) for claim in claims(facts, HeldByMigration))
    yield from (_judge_own(claim, facts) for claim in claims(facts, OnHostOfMove))


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """One request that changes what the instance and its migrations hold."""
    claim = claim_of(finding.subject.uuid, facts)
    if isinstance(claim, OnHostOfMove):
        moves = moved_between(claim, facts).values()
        return full_replace(claim, finding, facts, same_status(moves))
    if not isinstance(claim, HeldByMigration):
        return because("not-settled-now-moves")
    right = _right(claim, facts)
    if isinstance(right, Unknown):
        return because("no-claim-right")
    instance = claim.instance
    held = facts.holdings[instance.uuid].allocations
    project, user = (held.project, held.user) if held else (instance.project, instance.user)
    kind = held.consumer_type if held else None
    after: dict[str, Allocations | None] = {
        instance.uuid: Allocations(right, project, user, kind),
        **dict.fromkeys(claim.record.moves),
    }
    left = _left(claim, facts)
    guards = (*guests_on(left, claim, facts), *sources_down(left, claim, facts))
    return guarded_step(after, facts, finding, instance, guards)


def _left(claim: HeldByMigration, facts: Facts) -> frozenset[str]:
    """The roots of the other hosts that it or its migrations hold."""
    every = (claim.held, *claim.record.moves.values())
    return frozenset().union(*map(facts.roots_of, every)) - {claim.provider.root}


def _judge_own(claim: OnHostOfMove, facts: Facts) -> Verdict:
    """Judge an instance whose own consumer holds resources of both hosts of a move."""
    moves = moved_between(claim, facts).values()
    verdict = amounts_verdict(
        NAME, Severity.MEDIUM, claim, facts, {"migrations": moves_evidence(moves)}
    )
    if isinstance(verdict, Unchecked):
        return verdict
    return replace(verdict, since=last_change(moves))


def _judge(claim: HeldByMigration, facts: Facts) -> Verdict:
    record, names, right = claim.record, facts.provider_names, _right(claim, facts)
    where = ", ".join(sorted({_where(held, facts) for held in record.moves.values()}))
    subject = Subject("instance", claim.instance.uuid)
    running = running_source(_left(claim, facts), claim, facts)
    if isinstance(right, Unknown) or running:
        # SAFETY: a source that is up may run the guest; freeing its capacity would hide that.
        doubt = _uncertain(claim, right, facts) if isinstance(right, Unknown) else None
        holds = holding(record.own, names)
        moves = (_holding_reason(uuid, record, names) for uuid in record.moves)
        return Unchecked(subject, where, because("holds", *moves, running or doubt, holds=holds))
    since = last_change(record.migrations)
    just_over = since is not None and facts.taken_at - since < timedelta(minutes=1)
    return Finding(
        NAME,
        subject,
        where,
        Severity.HIGH,
        {
            "instance": instance_evidence(claim.instance, facts),
            "migrations": moves_evidence(map(record.migration, record.moves)),
            "holds": holding(record.own, names),
            "migrations_hold": tuple(
                row for held in record.moves.values() for row in holding(held, names)
            ),
            "should_hold": holding(right, names),
        },
        since=since,
        consumers=tuple(sorted(record.moves)),
        may_pass_within=_RELEASING_SECONDS if just_over else 0,
    )


def _right(claim: HeldByMigration, facts: Facts) -> Amounts | Unknown:
    """What the instance should hold, or why that is not known.

    The right claim is the one, its own or a migration's, that agrees with the expected amounts and
    makes the others spare. If none agrees, the expected amounts are right, if they are certain.
    """
    if not claim.wanted.known:
        return Unknown(because("claim-unknown"))
    if why := host_share_unknown(claim, facts):
        return Unknown(why)
    every = (claim.held, *claim.record.moves.values())
    found = [held for held in every if agrees(held, claim.wanted)]
    reasons = [not_spare(held, claim, facts) for held in found]
    spare = next((held for held, why in zip(found, reasons, strict=True) if why is None), None)
    if spare is not None:
        return spare
    return Unknown(reasons[0]) if reasons and reasons[0] else should_hold(claim, facts)


def _uncertain(claim: HeldByMigration, right: Unknown, facts: Facts) -> Reason:
    wanted = holding(claim.wanted.known, facts.provider_names)
    reason = right.reason if wanted else None
    return because("none-is-right", reason, provider=claim.provider.name, should_hold=wanted)


def _holding_reason(uuid: str, record: InstanceRecord, names: Mapping[str, str]) -> Reason:
    move, holds = record.migration(uuid), holding(record.moves[uuid], names)
    return because("migration-holds", kind=move.kind, status=move.status, holds=holds)


def _where(held: Amounts, facts: Facts) -> str:
    names = facts.provider_names
    return ", ".join(sorted(names.get(root, root) for root in facts.roots_of(held)))
