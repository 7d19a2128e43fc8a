# SPDX-License-Identifier: Apache-2.0
"""Child without owner: a PCI device is gone from Nova's tables, and its provider is still there.

Launchpad 2115905, 1872385. Providers of other services are not judged.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import ONE_USE_TRAIT, ComputeNode, Facts, Provider, pci_address
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.nodes import judged_hosts, newly_made, node_evidence, provider_evidence
from trueup.reconcile.steps import Step
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

NAME = "child-without-owner"
TITLE = "A PCI device is gone, and its provider is still there"
REMEDY = "None by Trueup: delete the provider when no consumer holds its resources"
SEVERITIES = (Severity.MEDIUM,)
NEEDS = (Need.PCI_DEVICES,)
SCOPE = Scope.WHOLE_CLOUD


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Children with the name of a PCI device that the node does not have.

    A selection has the PCI devices of its instances only.
    """
    devices = {(row.cell, row.compute_node, row.address.upper()) for row in facts.pci_devices}
    devices |= {
        (row.cell, row.compute_node, row.parent_address.upper())
        for row in facts.pci_devices
        if row.parent_address
    }
    for node, root in judged_hosts(facts):
        for child in facts.trees[root.uuid]:
            address = pci_address(child, root)
            if address and (node.cell, node.number, address) not in devices:
                yield _judge(child, address, node, facts, options)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None: the operator deletes the provider with the named command."""
    return because("delete-device-provider", provider=finding.subject.uuid)


def _judge(
    child: Provider, address: str, node: ComputeNode, facts: Facts, options: AuditOptions
) -> Verdict:
    subject = Subject("provider", child.uuid)
    if ONE_USE_TRAIT in (child.traits or ()):
        return LeftAlone(subject, child.name, because("device-for-one-use"))
    if reason := newly_made(node, facts, options):
        return LeftAlone(subject, child.name, reason)
    evidence: Evidence = {
        "provider": provider_evidence(child),
        "compute_node": node_evidence(node, facts),
        "address": address,
    }
    return Finding(NAME, subject, child.name, Severity.MEDIUM, evidence)
