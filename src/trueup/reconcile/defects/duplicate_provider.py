# SPDX-License-Identifier: Apache-2.0
"""Duplicate provider: a host was renamed, and has a provider by its old and by its new name.

Drift B.21, Launchpad 1832814: Placement counts the host twice. The proof is the deleted compute
node of the same host.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts
from trueup.reconcile.findings import Declined, Finding, Severity, Subject, Unchecked, Verdict
from trueup.reconcile.nodes import (
    Former,
    judged_roots,
    node_evidence,
    provider_evidence,
    without_node,
)
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.steps import Step

NAME = "duplicate-provider"
TITLE = "Its host has another compute node now, and this provider stands for the old one"
REMEDY = "None by Trueup yet: delete the old provider when nothing holds resources of it"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Root providers whose compute node is deleted, and whose host has another one."""
    for root in judged_roots(facts):
        former = without_node(root, facts)
        if not isinstance(former, Former) or not former.now:
            continue
        subject = Subject("provider", root.uuid)
        if not facts.coverage.complete:
            reason = f"its compute node is deleted, but {facts.coverage.gap}"
            yield Unchecked(subject, root.name, reason)
            continue
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


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """Declined, with the command."""
    return Declined(
        "first repair what instances of the host hold of it, which has findings of its own; then "
        f"run `openstack resource provider delete {finding.subject.uuid}`, children first"
    )
