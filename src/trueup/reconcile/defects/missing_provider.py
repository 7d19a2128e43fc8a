# SPDX-License-Identifier: Apache-2.0
"""Missing provider: Placement has no provider with the uuid or name of a compute node.

The scheduler cannot choose such a host. A running nova-compute makes the provider itself, within
its `resource_provider_association_refresh` (measured: 244 to 291 s).
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.bare_metal import IRONIC
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

NAME = "missing-provider"
TITLE = "A compute node has no resource provider"
REMEDY = "None by Trueup: nova-compute makes its provider when it starts"
SEVERITIES = (Severity.HIGH,)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Compute nodes whose uuid and name no provider has."""
    for node in nodes_without_provider(facts):
        if node.hypervisor == IRONIC or len(facts.nodes_by_uuid[node.uuid]) > 1:
            continue
        subject = Subject("provider", node.uuid)
        if reason := newly_made(node, facts, options):
            yield LeftAlone(subject, node.host, reason)
            continue
        evidence: Evidence = {"compute_node": node_evidence(node, facts)}
        yield Finding(NAME, subject, node.host, Severity.HIGH, evidence)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None: only nova-compute knows the resources of its host."""
    return because("start-makes-provider", host=finding.where)
