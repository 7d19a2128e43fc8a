# SPDX-License-Identifier: Apache-2.0
"""Domain elsewhere: an instance's guest runs on another host than Nova says.

This is the most dangerous defect: an operation that trusts Nova acts on the wrong host, and two
guests may write to one disk. Trueup only reports it.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Domain, Facts, Instance
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.claims import Moving, claim_of
from trueup.reconcile.rules.machines import is_same
from trueup.reconcile.rules.whereabouts import whereabouts
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Finding,
    Need,
    Scope,
    Severity,
    Subject,
    Verdict,
    domains_evidence,
    instance_evidence,
)

NAME = "domain-elsewhere"
TITLE = "The guest of an instance runs on another host than Nova says"
REMEDY = "None: find out on which host it should run, stop the other guest, and correct Nova"
SEVERITIES = (Severity.CRITICAL,)
NEEDS = (Need.HYPERVISORS, Need.COMPLETE)
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Instances, alive and in no task, whose guest is active on another host."""
    for uuid in sorted(facts.domains_of.keys() & facts.alive.keys()):
        instance = facts.alive[uuid]
        strange = [
            domain for domain in facts.domains_of[uuid] if _is_elsewhere(domain, uuid, facts)
        ]
        if strange and not isinstance(claim_of(uuid, facts), Moving):
            yield _judge(instance, strange, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None: Nova's row is wrong, or only the owner of two guests knows which guest is right."""
    instance = facts.alive[finding.subject.uuid]
    doubt = whereabouts(instance, facts.record(instance.uuid), facts)
    if doubt and doubt.found:
        return because("correct-host-row", host=doubt.found.host)
    running = {row.host for row in facts.domains_of[instance.uuid] if row.ours and row.active}
    if len(running) == 1 and (not instance.host or facts.hypervisor_answered(instance.host)):
        # SAFETY: to stop "the wrong one" would stop the only one.
        return because("only-guest", host=running.pop(), nova=instance.host or "no host")
    return because("which-guest-unknown")


def _is_elsewhere(domain: Domain, uuid: str, facts: Facts) -> bool:
    if not domain.ours or not domain.active:
        return False
    hosts = {row.host for row in facts.instance_rows[uuid] if not row.deleted}
    return not any(is_same(domain.host, host, facts) for host in hosts)


def _judge(instance: Instance, strange: list[Domain], facts: Facts) -> Verdict:
    subject = Subject("instance", instance.uuid)
    where = ", ".join(sorted({domain.host for domain in strange}))
    return Finding(
        NAME,
        subject,
        where,
        Severity.CRITICAL,
        {
            "instance": instance_evidence(instance, facts),
            "domains": domains_evidence(facts.domains_of[instance.uuid]),
        },
    )
