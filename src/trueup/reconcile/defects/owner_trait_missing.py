# SPDX-License-Identifier: Apache-2.0
"""Owner trait missing: a provider lacks OWNER_NOVA, which Nova's scheduler requires.

nova-compute sets the trait since service version 73 (2026.2), on its nodes and on their PCI
devices. Once every nova-compute that counts has that version, the scheduler requires the trait
(`nova/scheduler/request_filter.py`). A ledger that was rebuilt without it has no candidates at all.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import (
    OWNER_TRAIT,
    PCI_TRAIT,
    ComputeService,
    Facts,
    Provider,
    grouped,
    pci_address,
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
SEVERITIES = (Severity.HIGH, Severity.MEDIUM, Severity.LOW)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION

# The service version since which nova-compute sets the trait.
SETS_IT_SINCE = 73
_NOT_YET = "not yet"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict | IfComplete]:
    """Hosts and PCI devices without the trait; Nova's API gives no service version."""
    required = facts.once(_required)
    for node, root in judged_hosts(facts):
        service = service_of(node, facts)
        if service is None or not _concerns(service, required):
            continue
        for provider in (root, *_devices(root, facts)):
            if provider.traits is None or OWNER_TRAIT in provider.traits:
                continue
            subject = Subject("provider", provider.uuid)
            if reason := newly_made(node, facts, options):
                yield LeftAlone(subject, node.host, reason)
                continue
            evidence: Evidence = {
                "provider": provider_evidence(provider),
                "compute_node": node_evidence(node, facts),
                "service_version": service.version,
                "required_by_the_scheduler": "yes" if required else _NOT_YET,
            }
            severity = _severity(required, provider is root)
            finding = Finding(NAME, subject, node.host, severity, evidence)
            # A cell that is silent may have an older nova-compute.
            yield IfComplete(finding) if required else finding


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """Add the trait, if nova-compute is down."""
    provider = facts.providers[finding.subject.uuid]
    [node] = facts.nodes_by_uuid[provider.root]
    service = service_of(node, facts)
    if provider.traits is None or service is None:
        return because("traits-not-read")
    if is_up(node, facts):
        sets_it = service.version >= SETS_IT_SINCE
        return because("nova-compute-sets-owner-trait" if sets_it else "upgrade-for-owner-trait")
    guards = (*on_host(node, facts), ServiceDown(node.cell, node.host))
    return (traits_step(provider, provider.traits | {OWNER_TRAIT}, finding, guards),)


def _concerns(service: ComputeService, required: bool) -> bool:
    """Whether the trait belongs on the host; one that is forced down gets no instance anyway."""
    return service.version >= SETS_IT_SINCE or (required and not service.forced_down)


def _devices(root: Provider, facts: Facts) -> Iterator[Provider]:
    """The PCI devices of a host: the scheduler requires the trait of these as well."""
    for child in facts.trees[root.uuid]:
        if child.traits and PCI_TRAIT in child.traits and pci_address(child, root):
            yield child


def _severity(required: bool, is_host: bool) -> Severity:
    if not required:
        return Severity.LOW
    return Severity.HIGH if is_host else Severity.MEDIUM


def _required(facts: Facts) -> bool:
    """Whether the scheduler requires the trait.

    PARITY: as `get_minimum_version_all_cells` of Nova, which counts no service that is forced down,
    and no cell with a service of version 0.
    """
    counted = grouped((row.cell, row.version) for row in facts.services if not row.forced_down)
    oldest = [version for versions in counted.values() if (version := min(versions))]
    return min(oldest, default=0) >= SETS_IT_SINCE
