# SPDX-License-Identifier: Apache-2.0
"""Status trait drift: a compute service and the trait of its provider disagree about "disabled".

Launchpad 1805984. A running nova-compute corrects the trait when it next reports. Nothing corrects
it while nova-compute is down. Before Train, nova-compute did not set it.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import (
    DISABLED_TRAIT,
    NODE_TRAIT,
    ComputeNode,
    ComputeService,
    Facts,
    Provider,
)
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
from trueup.reconcile.steps import ServiceDown, ServiceSetting, Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Evidence,
    Finding,
    LeftAlone,
    Need,
    Scope,
    Severity,
    Subject,
    Verdict,
)

NAME = "status-trait-drift"
TITLE = "A compute service is disabled without the trait for that on its provider, or the reverse"
REMEDY = "Set or remove the trait COMPUTE_STATUS_DISABLED as Nova's service record says"
SEVERITIES = (Severity.MEDIUM, Severity.LOW)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION

# The service version since which nova-compute sets the trait (Train).
SETS_IT_SINCE = 38


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Hosts whose provider disagrees with the service record."""
    for node, provider in judged_hosts(facts):
        service = service_of(node, facts)
        if service is None or not _differs(service, provider):
            continue
        subject = Subject("provider", provider.uuid)
        if reason := newly_made(node, facts, options):
            yield LeftAlone(subject, node.host, reason)
            continue
        up = is_up(node, facts)
        evidence: Evidence = {
            "provider": provider_evidence(provider),
            "compute_node": node_evidence(node, facts),
            "service": "disabled" if service.disabled else "enabled",
            "nova_compute": "up" if up else "down",
        }
        severity = Severity.MEDIUM if up else Severity.LOW
        yield Finding(NAME, subject, node.host, severity, evidence)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """Set or remove the trait as the service record says, if nova-compute is down."""
    node, provider = _node_and_provider(finding, facts)
    service = service_of(node, facts)
    if service is None or provider.traits is None:
        return because("service-not-read")
    if is_up(node, facts):
        return because("nova-compute-sets-status-trait")
    others = provider.traits - {DISABLED_TRAIT}
    after = others | {DISABLED_TRAIT} if service.disabled else others
    guards = (
        *on_host(node, facts),
        ServiceDown(node.cell, node.host),
        ServiceSetting(node.cell, node.host, service.disabled),
    )
    return (traits_step(provider, after, finding, guards),)


def _differs(service: ComputeService, provider: Provider) -> bool:
    """SAFETY: unread traits never differ."""
    if provider.traits is None or not _sets_it(service, provider.traits):
        return False
    return service.disabled != (DISABLED_TRAIT in provider.traits)


def _sets_it(service: ComputeService, traits: frozenset[str]) -> bool:
    """Whether the nova-compute of a provider with these traits sets the trait.

    Nova's API gives no service version. Then this trait or COMPUTE_NODE (Ussuri) is the sign: an
    older nova-compute sets neither.
    """
    if service.version:
        return service.version >= SETS_IT_SINCE
    return bool(traits & {NODE_TRAIT, DISABLED_TRAIT})


def _node_and_provider(finding: Finding, facts: Facts) -> tuple[ComputeNode, Provider]:
    [node] = facts.nodes_by_uuid[finding.subject.uuid]
    return node, facts.providers[finding.subject.uuid]
