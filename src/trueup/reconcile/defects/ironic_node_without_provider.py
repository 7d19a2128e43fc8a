# SPDX-License-Identifier: Apache-2.0
"""Ironic node without provider: Nova has a bare metal node, and Placement does not.

Launchpad 1841481, 1853009: when nova-computes share Ironic's nodes among them, one may delete the
provider of a node that another one has just taken over.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import ComputeNode, Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.bare_metal import IRONIC, newly_down
from trueup.reconcile.rules.nodes import newly_made, node_evidence, nodes_without_provider
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

NAME = "ironic-node-without-provider"
TITLE = "A bare metal node has no resource provider"
REMEDY = "None by Trueup: nova-compute makes the provider"
SEVERITIES = (Severity.HIGH,)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Ironic's nodes whose uuid and name no provider has."""
    every = [row for row in facts.compute_nodes if row.hypervisor == IRONIC]
    down = {row.cell: row.host for row in every if newly_down(row, facts, options)}
    for node in nodes_without_provider(facts):
        if node.hypervisor != IRONIC or len(facts.nodes_by_uuid[node.uuid]) > 1:
            continue
        subject = Subject("provider", node.uuid)
        if reason := newly_made(node, facts, options) or _moving(node, down):
            yield LeftAlone(subject, node.host, reason)
            continue
        evidence: Evidence = {"compute_node": node_evidence(node, facts)}
        yield Finding(NAME, subject, node.host, Severity.HIGH, evidence)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None: only Ironic and nova-compute know the resources of a node."""
    return because("restart-makes-node-provider", host=finding.where)


def _moving(node: ComputeNode, down: dict[str, str]) -> Reason | None:
    if host := down.get(node.cell):
        return because("nodes-taken-over", host=host)
    return None
