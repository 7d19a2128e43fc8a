# SPDX-License-Identifier: Apache-2.0
"""Orphaned provider: its compute node is deleted, and its provider is still there.

Launchpad 1811726, 1829479: deleting a compute service swallows the error of deleting its provider,
for example because the provider still has allocations. The proof is the deleted row.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts, Provider
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.guarded_steps import foreign_child, fresh, removal_steps
from trueup.reconcile.rules.bare_metal import IRONIC
from trueup.reconcile.rules.nodes import (
    Former,
    judged_roots,
    node_evidence,
    provider_evidence,
    without_node,
)
from trueup.reconcile.steps import NodeGone, Step
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

NAME = "orphaned-provider"
TITLE = "A compute node is deleted, and its provider is still there"
REMEDY = "Delete the provider and its children, when no consumer holds their resources"
SEVERITIES = (Severity.MEDIUM,)
NEEDS = (Need.COMPLETE,)
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Root providers whose compute node is deleted and whose host has no other compute node."""
    for root in judged_roots(facts):
        fate = without_node(root, facts)
        if isinstance(fate, Former) and not fate.now:
            yield _judge(root, fate, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """Delete the tree, after the steps that release its resources."""
    root = facts.providers[finding.subject.uuid]
    former = without_node(root, facts)
    if not isinstance(former, Former) or root.traits is None or root.aggregates is None:
        return because("provider-not-read")
    if child := foreign_child(root, facts):
        return because("foreign-child", child=child.name, uuid=child.uuid)
    node = former.node
    guards = (NodeGone(node.uuid, node.node, node.cell, node.host), *fresh(node.cell, facts))
    return removal_steps(root, facts, finding, guards)


def _judge(root: Provider, former: Former, facts: Facts) -> Verdict:
    subject, node = Subject("provider", root.uuid), former.node
    cell = facts.cells.get(node.cell, node.cell)
    reason = None
    if node.hypervisor == IRONIC and any(
        row.hypervisor == IRONIC and row.cell == node.cell for row in facts.compute_nodes
    ):
        # SAFETY: Ironic redistributes its nodes when a nova-compute comes or goes.
        reason = because("node-may-be-taken-over", provider=root.uuid)
    elif facts.service_of(node.cell, node.host):
        # SAFETY: a compute service that comes back restores its compute node with this uuid.
        reason = because("service-still-there", host=node.host)
    if reason:
        return LeftAlone(subject, root.name, because("node-deleted-but", reason, cell=cell))
    evidence: Evidence = {
        "provider": provider_evidence(root),
        "compute_node": node_evidence(node, facts),
    }
    return Finding(NAME, subject, root.name, Severity.MEDIUM, evidence, since=node.updated_at)
