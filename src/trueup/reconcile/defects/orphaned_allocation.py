# SPDX-License-Identifier: Apache-2.0
"""Orphaned allocation: a consumer whose instance a cell says is deleted (drift B.9, B.16).

The proof is the deleted row, by Nova (`deleted` is its id) or by hand (`deleted` is 1); a consumer
that is merely found nowhere is not claimed.
"""

from collections.abc import Iterator
from dataclasses import replace

from trueup.reconcile.facts import Amounts, Facts, Instance
from trueup.reconcile.findings import (
    Declined,
    Finding,
    LeftAlone,
    Severity,
    Subject,
    Unchecked,
    Verdict,
    holding,
    instance_evidence,
)
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.steps import Step, step_on

NAME = "orphaned-allocation"
TITLE = "Its instance is deleted, and it still holds resources"
REMEDY = "Release what it holds on compute hosts"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Consumers that hold something for an instance that is deleted."""
    for consumer in sorted(facts.consumers.keys() & facts.deleted.keys()):
        yield _judge(facts.deleted[consumer], facts, options)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """Release its amounts; what it holds of a sharing provider stays with its owner."""
    instance = facts.deleted[finding.subject.uuid]
    held = facts.holdings[instance.uuid].allocations
    if held is None:
        return Declined("it holds nothing now")
    ours = _releasable(held.amounts, facts)
    kept = {uuid: amounts for uuid, amounts in held.amounts.items() if uuid not in ours}
    after = replace(held, amounts=kept) if kept else None
    return (step_on(instance.uuid, facts, after, finding.id, instance),)


def _judge(instance: Instance, facts: Facts, options: AuditOptions) -> Verdict:
    consumer, held = instance.uuid, facts.consumers[instance.uuid]
    names = {uuid: facts.providers[uuid].name for uuid in held if uuid in facts.providers}
    where = ", ".join(sorted(names.values()))
    if reason := _hands_off(instance, facts, options):
        return LeftAlone(Subject("consumer", consumer), where, reason)
    if not facts.coverage.complete:
        # SAFETY: a source that is silent may know the instance alive (a move between cells).
        silent = ", ".join(answer.source for answer in facts.coverage.missing)
        return Unchecked(
            Subject("consumer", consumer),
            where,
            f"its instance is deleted in {facts.cells[instance.cell]}, but {silent} did not answer",
        )
    return Finding(
        NAME,
        Subject("consumer", consumer),
        where,
        Severity.MEDIUM,
        {
            "instance": instance_evidence(instance, facts),
            "holds": holding(_releasable(held, facts), names),
        },
        since=instance.deleted_at,
    )


def _hands_off(instance: Instance, facts: Facts, options: AuditOptions) -> str | None:
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
        if 0 <= age.total_seconds() < options.grace_seconds:
            return (
                f"deleted {age.total_seconds():.0f} s ago, within the grace of "
                f"{options.grace_seconds} s: nova-compute may still be cleaning up"
            )
    return None


def _releasable(amounts: Amounts, facts: Facts) -> Amounts:
    return {
        uuid: held
        for uuid, held in amounts.items()
        if uuid in facts.providers and not facts.providers[uuid].sharing
    }
