# SPDX-License-Identifier: Apache-2.0
"""Orphaned allocation: a consumer whose instance a cell says is deleted (drift B.9, B.16).

The proof is the deleted row, by Nova (`deleted` is its id) or by hand (`deleted` is 1); a consumer
that is merely found nowhere is not claimed.
"""

from collections.abc import Iterator
from dataclasses import replace

from trueup.reconcile.facts import Amounts, Facts, Instance
from trueup.reconcile.findings import Finding, LeftAlone, Unchecked, Verdict, amounts_in_words
from trueup.reconcile.rules import Rules
from trueup.reconcile.steps import Step, step_on

NAME = "orphaned_allocation"
TITLE = "Its instance is deleted, and it still holds resources"
REMEDY = "Release what it holds on compute hosts"


def find(facts: Facts, rules: Rules) -> Iterator[Verdict]:
    """Consumers that hold something for an instance that is deleted."""
    for consumer in sorted(facts.consumers.keys() & facts.deleted.keys()):
        yield _judge(facts.deleted[consumer], facts, rules)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...]:
    """Release its amounts; what it holds of a sharing provider stays with its owner."""
    held = facts.holdings[finding.subject].allocations
    if held is None:
        return ()
    ours = _releasable(held.amounts, facts)
    kept = {uuid: amounts for uuid, amounts in held.amounts.items() if uuid not in ours}
    after = replace(held, amounts=kept) if kept else None
    instance = facts.deleted[finding.subject]
    return (step_on(finding.subject, facts, after, finding.id, instance),)


def _judge(instance: Instance, facts: Facts, rules: Rules) -> Verdict:
    consumer, held = instance.uuid, facts.consumers[instance.uuid]
    names = {uuid: facts.providers[uuid].name for uuid in held if uuid in facts.providers}
    where = ", ".join(sorted(names.values()))
    if reason := _hands_off(instance, facts, rules):
        return LeftAlone(f"consumer {consumer}", where, reason)
    if not facts.coverage.complete:
        # SAFETY: a source that is silent may know the instance alive (a move between cells).
        silent = ", ".join(answer.source for answer in facts.coverage.missing)
        return Unchecked(
            f"consumer {consumer}",
            where,
            f"its instance is deleted in {facts.cells[instance.cell]}, but {silent} did not answer",
        )
    evidence = {
        "instance": f"{instance.name}, deleted in {facts.cells[instance.cell]}"
        + (f" at {instance.deleted_at:%Y-%m-%d %H:%M:%S}" if instance.deleted_at else ""),
        "holds": amounts_in_words(_releasable(held, facts), names),
    }
    return Finding(NAME, consumer, where, evidence)


def _hands_off(instance: Instance, facts: Facts, rules: Rules) -> str | None:
    if instance.hidden:
        return "its deleted row is hidden: a move between cells"
    if migration := facts.moving.get(instance.uuid):
        return f"its {migration.kind} is {migration.status}"
    if instance.uuid in facts.builds:
        return "it has a build request"
    if not _releasable(facts.consumers[instance.uuid], facts):
        return "it holds only resources of sharing providers"
    if instance.deleted_at is not None:
        age = facts.taken_at - instance.deleted_at
        # A deletion in the future is a clock of another zone (seed 004 uses now()): no grace.
        if 0 <= age.total_seconds() < rules.grace_seconds:
            return (
                f"deleted {age.total_seconds():.0f} s ago, within the grace of "
                f"{rules.grace_seconds} s: nova-compute may still be cleaning up"
            )
    return None


def _releasable(amounts: Amounts, facts: Facts) -> Amounts:
    return {
        uuid: held
        for uuid, held in amounts.items()
        if uuid in facts.providers and not facts.providers[uuid].sharing
    }
