# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a move that waits for confirmation, or with its claims, in words. Pure."""

from collections.abc import Iterable, Mapping

from trueup.reconcile.expected import ExpectedAllocation, Share, Unknown, share_agrees
from trueup.reconcile.facts import Amounts, Facts, Instance, Migration
from trueup.reconcile.verdicts import amounts_in_words


def wrong_claims(
    every: Iterable[ExpectedAllocation], held: Mapping[str, Amounts], names: Mapping[str, str]
) -> str:
    """Which of the claims have wrong amounts of processors, memory or disk; empty: none has.

    `held`: what the instance and each of its migrations hold. A third claim, as an older migration
    leaves it, is wrong. Ports and devices are not compared: it is not known which of them the
    source gave.
    """
    should = {one.consumer: one for one in every}
    wrong = [one for one in should.values() if not _agrees(held.get(one.consumer, {}), one)]
    sentences = [
        f"{one.consumer} holds {_in_words(held.get(one.consumer, {}), names)}, "
        f"should hold {_in_words(one.known, names)}"
        for one in wrong
    ]
    sentences += [
        f"its other migration {consumer} holds {_in_words(held[consumer], names)}"
        for consumer in sorted(held.keys() - should.keys())
    ]
    return "; ".join(sentences)


def unknown_claims(
    every: Iterable[ExpectedAllocation], held: Mapping[str, Amounts], names: Mapping[str, str]
) -> str:
    """Which claims should hold processors, memory and disk that are not known, and why.

    SAFETY: every amount agrees with what is not known. Nova's API gives no old flavor.
    """
    unknown = {
        one.consumer: part.reason
        for one in every
        for part in one.of(Share.HOST).open
        if isinstance(part, Unknown)
    }
    return "; ".join(
        f"it is not known what {consumer} should hold: {reason}; it holds "
        f"{_in_words(held.get(consumer, {}), names)}"
        for consumer, reason in unknown.items()
    )


def not_on_target(instance: Instance, migration: Migration) -> str:
    """Which host Nova has the instance on, if it is not the target of the move; empty if it is.

    SAFETY: to confirm the move would delete the guest on its source, and to revert it the guest on
    its target. One of them may be the only one.
    """
    here = (instance.host, instance.node)
    there = (migration.target_host, migration.target_node or instance.node)
    if migration.target_host is None or here == there:
        return ""
    return (
        f"its {migration.kind} to {migration.target_host or 'no host'} is {migration.status}, and "
        f"Nova has it on {instance.host or 'no host'}: find out on which host its guest is before "
        "you confirm or revert it"
    )


def on_unknown_host(migration: Migration, facts: Facts) -> str:
    """Which side of the move no compute node stands for; empty if both are known.

    SAFETY: Nova would confirm or revert the move on a host that it does not have.
    """
    cell = migration.cell
    for side, host, node in (
        ("source", migration.source_host, migration.source_node),
        ("target", migration.target_host, migration.target_node),
    ):
        if (cell, host, node) not in facts.nodes_by_place:
            return (
                f"its {migration.kind} is {migration.status}, and {facts.cells[cell]} has no "
                f"compute node for its {side}, host {host or 'none'}, node {node or 'none'}: "
                "correct that before you confirm or revert it"
            )
    return ""


def in_broken_tree(migration: Migration, facts: Facts) -> str:
    """Why it is not certain what either host of the move gives; empty if it is."""
    cell = migration.cell
    for host, node in (
        (migration.source_host, migration.source_node),
        (migration.target_host, migration.target_node),
    ):
        for row in facts.nodes_by_place.get((cell, host or "", node or ""), ()):
            provider = facts.providers.get(row.uuid)
            if provider and (broken := facts.broken_roots.get(provider.root)):
                return f"the tree of {host}, a host of its {migration.kind}, is broken: {broken}"
    return ""


def _in_words(amounts: Amounts, names: Mapping[str, str]) -> str:
    return amounts_in_words(amounts, names) or "nothing"


def _agrees(held: Amounts, wanted: ExpectedAllocation) -> bool:
    return not wanted.parts or share_agrees(Share.HOST, held, wanted)
