# SPDX-License-Identifier: Apache-2.0
"""Orphaned allocation: a consumer whose instance a cell says is deleted (drift B.9, B.16).

The proof is the deleted row, by Nova (`deleted` is its id) or by hand (`deleted` is 1); a consumer
that is merely found nowhere is not claimed. As Nova does when it deletes an instance, all is
released that it holds, a share of a pool too, and all that its migrations hold.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from trueup.reconcile.facts import Facts, Instance
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
from trueup.reconcile.remedies import guarded_step
from trueup.reconcile.residence import contradiction
from trueup.reconcile.steps import Step

NAME = "orphaned-allocation"
TITLE = "Its instance is deleted, and it still holds resources"
REMEDY = "Release all that it and its migrations hold"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Deleted instances that hold something, by their own or their migrations' consumers."""
    held = {row.instance for row in facts.migrations if row.uuid in facts.consumers}
    for uuid in sorted((facts.consumers.keys() | held) & facts.deleted.keys()):
        yield _judge(facts.deleted[uuid], facts, options)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """Release all that it and its migrations hold."""
    instance = facts.deleted[finding.subject.uuid]
    holders = (instance.uuid, *facts.record(instance.uuid).moves)
    after = {one: None for one in holders if facts.holdings[one].allocations is not None}
    if not after:
        return Declined("it holds nothing now")
    return (guarded_step(after, facts, finding, instance),)


def _judge(instance: Instance, facts: Facts, options: AuditOptions) -> Verdict:
    record = facts.record(instance.uuid)
    names = facts.provider_names
    claims = [held for held in (record.own, *record.moves.values()) if held]
    where = ", ".join(sorted({names.get(uuid, uuid) for held in claims for uuid in held}))
    subject = Subject("consumer", instance.uuid)
    if reason := _hands_off(instance, facts, options):
        return LeftAlone(subject, where, reason)
    cell = facts.cells[instance.cell]
    if reason := contradiction(record, facts):
        return Unchecked(subject, where, f"its instance is deleted in {cell}; {reason}")
    if not facts.coverage.complete:
        # SAFETY: a source that is silent may know the instance alive (a move between cells).
        gap = facts.coverage.gap
        return Unchecked(subject, where, f"its instance is deleted in {cell}, but {gap}")
    if instance.deleted_at is None:
        # SAFETY: without it, nova-compute may be at work on it at this moment.
        return Unchecked(
            subject,
            where,
            f"its instance is deleted in {cell}, but at what time is not known: if that was long "
            "ago, set deleted_at, or release it by hand",
        )
    return Finding(
        NAME,
        subject,
        where,
        Severity.MEDIUM,
        {
            "instance": instance_evidence(instance, facts),
            "holds": tuple(row for held in claims for row in holding(held, names)),
        },
        since=instance.deleted_at,
        consumers=tuple(sorted(record.moves)),
    )


def _hands_off(instance: Instance, facts: Facts, options: AuditOptions) -> str | None:
    if instance.hidden:
        return "its deleted row is hidden: a move between cells"
    if migration := facts.moving.get(instance.uuid):
        return f"its {migration.kind} is {migration.status}"
    if instance.uuid in facts.builds:
        return "it has a build request"
    if instance.deleted_at is not None and _is_recent(instance.deleted_at, facts, options):
        age = (facts.taken_at - instance.deleted_at).total_seconds()
        told = f"{age:.0f} s ago" if age >= 0 else f"{-age:.0f} s ahead of our clock"
        return (
            f"deleted {told}, within the grace of "
            f"{options.grace_seconds} s: nova-compute may still be cleaning up"
        )
    return None


def _is_recent(deleted_at: datetime, facts: Facts, options: AuditOptions) -> bool:
    """Whether it was deleted within the grace, or while the facts were read.

    Clocks differ: a deletion that seems to come is one of this moment. One that is far ahead is of
    a clock in another zone (seed 004 uses now()).
    """
    grace = timedelta(seconds=options.grace_seconds)
    return facts.taken_at - grace < deleted_at < facts.read_until + grace
