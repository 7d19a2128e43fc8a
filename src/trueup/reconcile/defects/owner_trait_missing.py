# SPDX-License-Identifier: Apache-2.0
"""Owner trait missing: a host's provider lacks OWNER_NOVA, which Nova's scheduler requires.

nova-compute sets the trait since service version 73 (2026.2). Once every nova-compute has that
version, the scheduler requires the trait (`nova/scheduler/request_filter.py`). A ledger that was
rebuilt without the trait has no candidates at all.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import OWNER_TRAIT, Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.guarded_steps import on_host, traits_step
from trueup.reconcile.rules.nodes import (
    is_up,
    judged_hosts,
    newly_made,
    node_evidence,
    provider_evidence,
    service_of,
)
from trueup.reconcile.steps import ServiceDown, Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Evidence,
    Finding,
    IfComplete,
    LeftAlone,
    Need,
    Scope,
    Severity,
    Subject,
    Verdict,
)

NAME = "owner-trait-missing"
TITLE = "A provider lacks the trait OWNER_NOVA, which Nova's scheduler asks for"
REMEDY = "Add the trait OWNER_NOVA"
SEVERITIES = (Severity.HIGH, Severity.LOW)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION

# The service version since which nova-compute sets the trait.
SETS_IT_SINCE = 73
_NOT_YET = "not yet"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict | IfComplete]:
    """Hosts without the trait whose nova-compute sets it; Nova's API gives no service version."""
    required = _required(facts)
    for node, provider in judged_hosts(facts):
        service = service_of(node, facts)
        if service is None or service.version < SETS_IT_SINCE or provider.traits is None:
            continue
        if OWNER_TRAIT in provider.traits:
            continue
        subject = Subject("provider", provider.uuid)
        if reason := newly_made(node, facts, options):
            yield LeftAlone(subject, node.host, reason)
            continue
        evidence: Evidence = {
            "provider": provider_evidence(provider),
            "compute_node": node_evidence(node, facts),
            "service_version": service.version,
            "required_by_the_scheduler": required,
        }
        if required == _NOT_YET:
            yield Finding(NAME, subject, node.host, Severity.LOW, evidence)
        else:
            # A cell that is silent may have an older nova-compute.
            yield IfComplete(Finding(NAME, subject, node.host, Severity.HIGH, evidence))


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """Add the trait, if nova-compute is down."""
    [node] = facts.nodes_by_uuid[finding.subject.uuid]
    provider = facts.providers[finding.subject.uuid]
    if provider.traits is None:
        return because("traits-not-read")
    if is_up(node, facts):
        return because("nova-compute-sets-owner-trait")
    guards = (*on_host(node, facts), ServiceDown(node.cell, node.host))
    return (traits_step(provider, provider.traits | {OWNER_TRAIT}, finding, guards),)


def _required(facts: Facts) -> str:
    """Whether the scheduler requires the trait: once every service of every cell sets it."""
    if any(row.version < SETS_IT_SINCE for row in facts.services):
        return _NOT_YET
    return "yes"
