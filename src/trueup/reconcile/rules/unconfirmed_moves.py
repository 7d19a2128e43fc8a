# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a move that waits for confirmation, or with its claims. Pure."""

from collections.abc import Iterable, Mapping

from trueup.reconcile.expected import ExpectedAllocation, Share, Unknown, share_agrees
from trueup.reconcile.facts import Amounts, Facts, Instance, Migration
from trueup.reconcile.reasons import Reason, because, together
from trueup.reconcile.verdicts import holding


def wrong_claims(
    every: Iterable[ExpectedAllocation], held: Mapping[str, Amounts], names: Mapping[str, str]
) -> Reason | None:
    """Which claims have wrong amounts of processors, memory or disk; None: all are right.

    `held`: what the instance and each of its migrations hold. A third claim, as an older migration
    leaves it, is wrong. Ports and devices are not compared: those of the source are not known.
    """
    should = {claim.consumer: claim for claim in every}
    wrong = [claim for claim in should.values() if not _agrees(held.get(claim.consumer, {}), claim)]
    reasons = [
        because(
            "claim-differs",
            consumer=claim.consumer,
            holds=holding(held.get(claim.consumer, {}), names),
            should_hold=holding(claim.known, names),
        )
        for claim in wrong
    ]
    reasons += [
        because("other-move-holds", consumer=consumer, holds=holding(held[consumer], names))
        for consumer in sorted(held.keys() - should.keys())
    ]
    return together(reasons)


def unknown_claims(
    every: Iterable[ExpectedAllocation], held: Mapping[str, Amounts], names: Mapping[str, str]
) -> Reason | None:
    """Which claims' processors, memory and disk are not known, and why; or None.

    SAFETY: any amount agrees with an unknown one. Nova's API gives no old flavor.
    """
    unknown = {
        claim.consumer: part.reason
        for claim in every
        for part in claim.of(Share.HOST).open
        if isinstance(part, Unknown)
    }
    return together(
        because(
            "claim-of-move-unknown",
            reason,
            consumer=consumer,
            holds=holding(held.get(consumer, {}), names),
        )
        for consumer, reason in unknown.items()
    )


def not_on_target(instance: Instance, migration: Migration) -> Reason | None:
    """On which host Nova has the instance, if it is not the target of the move; or None.

    SAFETY: a confirmation deletes the guest on the source, and a revert the guest on the target.
    Either of them may be the only guest.
    """
    here = (instance.host, instance.node)
    there = (migration.target_host, migration.target_node or instance.node)
    if migration.target_host is None or here == there:
        return None
    return because(
        "not-on-target",
        kind=migration.kind,
        target=migration.target_host,
        status=migration.status,
        host=instance.host,
    )


def on_unknown_host(migration: Migration, facts: Facts) -> Reason | None:
    """Which side of the move has no compute node; None if both sides have one.

    SAFETY: Nova would confirm or revert the move on a host that it does not have.
    """
    cell = migration.cell
    for side, host, node in (
        ("source", migration.source_host, migration.source_node),
        ("target", migration.target_host, migration.target_node),
    ):
        if (cell, host, node) not in facts.nodes_by_place:
            return because(
                "host-of-move-unknown",
                kind=migration.kind,
                status=migration.status,
                cell=facts.cells[cell],
                side=side,
                host=host,
                node=node,
            )
    return None


def in_broken_tree(migration: Migration, facts: Facts) -> Reason | None:
    """Why it is not certain what either host of the move provides; or None."""
    cell = migration.cell
    for host, node in (
        (migration.source_host, migration.source_node),
        (migration.target_host, migration.target_node),
    ):
        for row in facts.nodes_by_place.get((cell, host or "", node or ""), ()):
            provider = facts.providers.get(row.uuid)
            if provider and (broken := facts.broken_roots.get(provider.root)):
                return because(
                    "tree-of-move-broken", host=host, kind=migration.kind, broken=str(broken)
                )
    return None


def _agrees(held: Amounts, wanted: ExpectedAllocation) -> bool:
    return not wanted.parts or share_agrees(Share.HOST, held, wanted)
