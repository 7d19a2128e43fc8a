# SPDX-License-Identifier: Apache-2.0
"""Duplicate provider: a host was renamed, and has a provider by its old and by its new name.

Launchpad 1832814: Placement counts the host twice. The proof is the deleted compute node of the
same host.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.guarded_steps import foreign_child, on_host, removal_steps
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
    Finding,
    Need,
    Scope,
    Severity,
    Subject,
    Verdict,
)

NAME = "duplicate-provider"
TITLE = "A host was renamed, and has two providers"
REMEDY = "Delete the old provider and its children, when no consumer holds their resources"
SEVERITIES = (Severity.HIGH,)
NEEDS = (Need.COMPLETE,)
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Root providers whose compute node is deleted, and whose host has another one."""
    for root in judged_roots(facts):
        former = without_node(root, facts)
        if not isinstance(former, Former) or not former.now:
            continue
        subject = Subject("provider", root.uuid)
        yield Finding(
            NAME,
            subject,
            root.name,
            Severity.HIGH,
            {
                "provider": provider_evidence(root),
                "compute_node": node_evidence(former.node, facts),
                "now": tuple(node_evidence(row, facts) for row in former.now),
            },
            since=former.node.updated_at,
        )


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """Delete the old tree, after the steps that release its resources."""
    root = facts.providers[finding.subject.uuid]
    former = without_node(root, facts)
    if not isinstance(former, Former) or root.traits is None or root.aggregates is None:
        return because("provider-not-read")
    if child := foreign_child(root, facts):
        return because(
            "foreign-child-merge",
            child=child.name,
            root=root.name,
            node=former.now[0].node,
            uuid=child.uuid,
        )
    node = former.node
    # The guard has no name or host: the host is alive, and its new node may have the same name.
    gone = NodeGone(node.uuid, "", node.cell, "")
    return removal_steps(root, facts, finding, (gone, *on_host(former.now[0], facts)))
