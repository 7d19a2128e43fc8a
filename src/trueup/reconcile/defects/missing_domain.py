# SPDX-License-Identifier: Apache-2.0
"""Missing domain: Nova has an instance on a host whose hypervisor has no such domain.

Somebody undefined the domain, or the host was reinstalled.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts, Instance
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.claims import Moving, claim_of
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

NAME = "missing-domain"
TITLE = "Nova says that an instance is on a host, and its hypervisor does not have it"
REMEDY = "None: a hard reboot by Nova defines the domain again, if its disks are there"
SEVERITIES = (Severity.MEDIUM,)
NEEDS = (Need.HYPERVISORS, Need.COMPLETE)
SCOPE = Scope.SELECTION

# States in which nova-compute keeps the domain defined. Other states, such as error, need none.
_WITH_DOMAIN = frozenset({"active", "paused", "suspended", "stopped", "rescued", "shelved"})


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Instances in no task that have no domain on their host and no guest elsewhere."""
    asked = facts.hypervisors_that_answered
    there = (row for row in facts.alive.values() if row.host in asked)
    for instance in sorted(there, key=lambda row: row.uuid):
        if instance.vm_state in _WITH_DOMAIN:
            yield from _judge(instance, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None: only Nova knows how the domain must be defined."""
    return because("only-nova-defines")


def _judge(instance: Instance, facts: Facts) -> Iterator[Verdict]:
    domains = facts.domains_of.get(instance.uuid, ())
    if any(domain.host == instance.host or domain.active for domain in domains):
        return
    if isinstance(claim_of(instance.uuid, facts), Moving):
        return
    subject, host = Subject("instance", instance.uuid), instance.host or ""
    yield Finding(
        NAME,
        subject,
        host,
        Severity.MEDIUM,
        {
            "instance": instance_evidence(instance, facts),
            "domains": domains_evidence(domains),
        },
    )
