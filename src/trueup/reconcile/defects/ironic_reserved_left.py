# SPDX-License-Identifier: Apache-2.0
"""Ironic reserved left: a free bare metal node is reserved, and nothing will end that.

Launchpad 1974070: nova-compute reserves a node that is in use, being cleaned or in maintenance, and
frees it in a later periodic task. While nova-compute is down, nothing frees it.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts, Provider
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.bare_metal import IRONIC
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
REMEDY = "None by Trueup: start nova-compute, which frees what is available"
SEVERITIES = (Severity.LOW,)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Ironic's nodes that are reserved and unused while their nova-compute is down."""
    nodes = frozenset((row.cell, row.host, row.node) for row in facts.alive.values())
    every = [row for row in facts.compute_nodes if row.hypervisor == IRONIC]
    up = {row.cell: row.host for row in every if is_up(row, facts)}
    for node, provider in judged_hosts(facts):
        if node.hypervisor != IRONIC or is_up(node, facts) or not _reserved(provider):
            continue
        if provider.uuid in facts.used or (node.cell, node.host, node.node) in nodes:
            continue
        subject = Subject("provider", provider.uuid)
        if peer := up.get(node.cell):
            reason = because("reserved-node-taken-over", node=node.node, peer=peer)
            yield LeftAlone(subject, node.host, reason)
            continue
        evidence: Evidence = {"compute_node": node_evidence(node, facts)}
        yield Finding(NAME, subject, node.host, Severity.LOW, evidence)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None. SAFETY: only Ironic knows whether the node is being cleaned or in maintenance."""
    return because("start-frees-node", host=finding.where)


def _reserved(provider: Provider) -> bool:
    stock = provider.inventories.values()
    return bool(stock) and all(inventory.reserved >= inventory.total > 0 for inventory in stock)
