# SPDX-License-Identifier: Apache-2.0
"""Ghost domain: a hypervisor has the domain of an instance that is deleted.

The proof is the deleted row; a domain that no cell knows is not a finding. Domains without Nova's
metadata belong to somebody else, and are not reported.
"""

from collections.abc import Iterator
from datetime import timedelta

from trueup.reconcile.facts import Domain, Facts, Instance
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.domain_removal import domain_removals, left_to_nova
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
    domains_evidence,
    instance_evidence,
)

NAME = "ghost-domain"
TITLE = "An instance is deleted, and a hypervisor still has its domain"
REMEDY = "Remove the definition of a domain that is shut off, and keep its disks"
SEVERITIES = (Severity.HIGH, Severity.LOW)
NEEDS = (Need.HYPERVISORS, Need.COMPLETE)
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Domains that Nova made, and whose instances are deleted or known to no cell."""
    for uuid in sorted(facts.domains_of.keys() - facts.alive.keys()):
        ours = tuple(domain for domain in facts.domains_of[uuid] if domain.ours)
        if not ours or uuid in facts.builds:
            continue
        where = ", ".join(sorted({domain.host for domain in ours}))
        if uuid in facts.deleted:
            yield _judge(facts.deleted[uuid], where, ours, facts, options)
        else:
            # SAFETY: absence is no proof.
            reason = because("domain-of-nobody")
            yield Unchecked(Subject("domain", uuid), where, reason)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """Remove the definition on each host if no guest runs and Nova will not; disks are kept."""
    instance = facts.deleted[finding.subject.uuid]
    runs = any(domain.active for domain in facts.domains_of.get(instance.uuid, ()) if domain.ours)
    if not runs and (reason := left_to_nova(instance, facts)):
        return reason
    return domain_removals(finding, instance, facts)


def _judge(
    instance: Instance, where: str, ours: tuple[Domain, ...], facts: Facts, options: AuditOptions
) -> Verdict:
    subject = Subject("instance", instance.uuid)
    if reason := _in_progress_reason(instance, facts, options):
        return LeftAlone(subject, where, because("deleted-with-domain", reason))
    active = any(domain.active for domain in ours)
    return Finding(
        NAME,
        subject,
        where,
        Severity.HIGH if active else Severity.LOW,
        {
            "instance": instance_evidence(instance, facts),
            "domains": domains_evidence(ours),
        },
        since=instance.deleted_at,
    )


def _in_progress_reason(instance: Instance, facts: Facts, options: AuditOptions) -> Reason | None:
    if instance.hidden:
        return because("deleted-row-hidden")
    if migration := facts.moving.get(instance.uuid):
        return because("move-status", kind=migration.kind, status=migration.status)
    grace = timedelta(seconds=options.grace_seconds)
    if instance.deleted_at is not None and instance.deleted_at > facts.taken_at - grace:
        return because("deleted-within-grace", grace=options.grace_seconds)
    return None
