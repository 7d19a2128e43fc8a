# SPDX-License-Identifier: Apache-2.0
"""Orphaned allocation: a cell says that an instance is deleted, and its consumer holds resources.

The proof is the deleted row, by Nova (`deleted` is its id) or by hand (`deleted` is 1); a consumer
that no cell knows is not a finding. The remedy releases what Nova releases when it deletes an
instance: everything that it and its migrations hold, shared storage too.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from trueup.reconcile.facts import Facts, Instance, InstanceRecord
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.domain_removal import left_to_nova, no_domains, unseen
from trueup.reconcile.remedies.guarded_steps import abandoned_host, guarded_step
from trueup.reconcile.rules.moves import first_that_may_run, uncleaned
from trueup.reconcile.rules.residence import contradiction
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Finding,
    LeftAlone,
    Need,
    Scope,
    Severity,
    Subject,
    Unchecked,
    Verdict,
    holding,
    instance_evidence,
)

NAME = "orphaned-allocation"
TITLE = "An instance is deleted, and its allocation is still there"
REMEDY = "Release all that it and its migrations hold"
SEVERITIES = (Severity.MEDIUM,)
NEEDS = (Need.COMPLETE,)
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Deleted instances whose own consumer, or whose migrations, still hold resources."""
    held = {row.instance for row in facts.migrations if row.uuid in facts.consumers}
    for uuid in sorted((facts.consumers.keys() | held) & facts.deleted.keys()):
        yield _judge(facts.deleted[uuid], facts, options)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """Release all that it and its migrations hold, unless nova-compute still has to clean up."""
    reason = left_to_nova(facts.deleted[finding.subject.uuid], facts)
    return reason or release(finding, facts)


def release(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """Release all that it and its migrations hold."""
    instance = facts.deleted[finding.subject.uuid]
    holders = (instance.uuid, *facts.record(instance.uuid).moves)
    after = {holder: None for holder in holders if facts.holdings[holder].allocations is not None}
    if not after:
        return because("holds-nothing-now")
    if reason := unseen(instance, facts):
        return reason
    guards = (
        guard
        for row in uncleaned(facts.record(instance.uuid))
        for guard in abandoned_host(row, instance, facts)
    )
    every = dict.fromkeys((*no_domains(instance, facts), *guards))
    return guarded_step(after, facts, finding, instance, tuple(every))


def _judge(instance: Instance, facts: Facts, options: AuditOptions) -> Verdict:
    record = facts.record(instance.uuid)
    names = facts.provider_names
    claims = (record.own, *record.moves.values())
    where = ", ".join(sorted({names.get(uuid, uuid) for held in claims for uuid in held}))
    subject = Subject("consumer", instance.uuid)
    if reason := _in_progress_reason(instance, facts, options):
        return LeftAlone(subject, where, reason)
    cell = facts.cells[instance.cell]
    if reason := _why_not(record, instance, facts):
        return Unchecked(subject, where, because("deleted-but", reason, cell=cell))
    if instance.deleted_at is None:
        # SAFETY: without that time, nova-compute may be deleting the instance at this moment.
        return Unchecked(
            subject,
            where,
            because("deleted-when-unknown", cell=cell),
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


def _why_not(record: InstanceRecord, instance: Instance, facts: Facts) -> Reason | None:
    """Why something may still need what it holds; or None."""
    if reason := contradiction(record, facts) or _unfinished(instance, facts):
        return reason
    # SAFETY: that host may still run the guest; freeing its capacity would hide it.
    return first_that_may_run(uncleaned(record), record, facts)


def _in_progress_reason(instance: Instance, facts: Facts, options: AuditOptions) -> Reason | None:
    if instance.hidden:
        return because("deleted-row-hidden")
    if instance.uuid in facts.builds:
        return because("build-request")
    if instance.deleted_at is not None and _is_recent(instance.deleted_at, facts, options):
        age = (facts.taken_at - instance.deleted_at).total_seconds()
        return because(
            "deleted-lately" if age >= 0 else "deleted-ahead",
            age=round(abs(age)),
            grace=options.grace_seconds,
        )
    return None


def _unfinished(instance: Instance, facts: Facts) -> Reason | None:
    """Which move is left: Nova deletes moves with their instance, so this was done by hand."""
    move = facts.moving.get(instance.uuid)
    if move is None:
        return None
    hosts = tuple(host for host in (move.source_host, move.target_host) if host)
    return because("deleted-with-move", kind=move.kind, status=move.status, hosts=hosts)


def _is_recent(deleted_at: datetime, facts: Facts, options: AuditOptions) -> bool:
    """Whether it was deleted within the grace, or while the facts were read.

    Clocks differ: a time slightly ahead of ours is a deletion of this moment. A time far ahead
    comes from another time zone (as after `deleted_at=now()`).
    """
    grace = timedelta(seconds=options.grace_seconds)
    return facts.taken_at - grace < deleted_at < facts.read_until + grace
