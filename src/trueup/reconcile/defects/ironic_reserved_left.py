# SPDX-License-Identifier: Apache-2.0
"""Ironic reserved left: a free bare metal node is reserved, and nothing will end that.

Launchpad 1974070: nova-compute reserves a node that is in use, being cleaned or in maintenance, and
frees it in a later periodic task. While nova-compute is down, nothing frees it.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts, Provider
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.bare_metal import IRONIC, newly_down, peer_of
from trueup.reconcile.rules.nodes import is_up, judged_hosts, node_evidence
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

NAME = "ironic-reserved-left"
TITLE = "A bare metal node is reserved, and nothing is on it"
REMEDY = "None by Trueup: start nova-compute, which frees a node that is available"
SEVERITIES = (Severity.LOW,)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Ironic's nodes that are reserved and unused while their nova-compute is down."""
    nodes = frozenset((row.cell, row.host, row.node) for row in facts.alive.values())
    for node, provider in judged_hosts(facts):
        if node.hypervisor != IRONIC or is_up(node, facts) or not _reserved(provider):
            continue
        if provider.uuid in facts.used or (node.cell, node.host, node.node) in nodes:
            continue
        subject = Subject("provider", provider.uuid)
        peer = peer_of(node.cell, node.host, facts)
        if peer and newly_down(node, facts, options):
            reason = because("reserved-node-taken-over", node=node.node, peer=peer)
            yield LeftAlone(subject, node.host, reason)
            continue
        evidence: Evidence = {"compute_node": node_evidence(node, facts)}
        yield Finding(NAME, subject, node.host, Severity.LOW, evidence)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None. SAFETY: only Ironic knows whether the node is being cleaned or in maintenance."""
    node = facts.nodes_by_uuid[finding.subject.uuid][0]
    if peer := peer_of(node.cell, node.host, facts):
        return because("reserved-node-kept", host=node.host, node=node.node, peer=peer)
    return because("start-frees-node", host=finding.where)


def _reserved(provider: Provider) -> bool:
    stock = provider.inventories.values()
    return bool(stock) and all(inventory.reserved >= inventory.total > 0 for inventory in stock)
