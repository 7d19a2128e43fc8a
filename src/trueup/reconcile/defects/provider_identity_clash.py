# SPDX-License-Identifier: Apache-2.0
"""Provider identity clash: a compute node and a provider have the same name and different uuids.

Seed 000, drift B.20, Launchpad 1817833: nova-compute gets 409 "Conflicting resource provider name"
each time it tries to make its provider, and reports nothing.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts
from trueup.reconcile.findings import Declined, Evidence, Finding, Severity, Subject, Verdict
from trueup.reconcile.nodes import judged_nodes, node_evidence, provider_evidence
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.steps import Step

NAME = "provider-identity-clash"
TITLE = "Its compute node and the provider of that name have different uuids"
REMEDY = "None in a plan: `trueup rekey HOST` finds out which uuid is right"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Compute nodes whose uuid no provider has, while another provider has their name."""
    for node in judged_nodes(facts):
        namesakes = facts.providers_by_name.get(node.node, ())
        if node.uuid in facts.providers or not namesakes or len(namesakes) > 1:
            continue
        [provider] = namesakes
        evidence: Evidence = {
            "compute_node": node_evidence(node, facts),
            "provider": provider_evidence(provider),
        }
        yield Finding(NAME, Subject("host", node.host), node.node, Severity.HIGH, evidence)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """None: only an operator knows which of the two uuids is the right one."""
    [provider] = facts.providers_by_name[finding.where]
    if owners := facts.nodes_by_uuid.get(provider.uuid):
        # SAFETY: the provider belongs to a living host, and renaming it would break that host.
        other = owners[0]
        return Declined(
            f"two compute nodes are called {finding.where}: the provider is that of host "
            f"{other.host} in {facts.cells[other.cell]}; names of hosts must be unique in all "
            "cells: remove one of the two hosts, or install it under another name"
        )
    return Declined(
        f"run `trueup rekey {finding.subject.uuid}`: it says which of the two uuids is right; if "
        "it is the compute node's, the provider gets it, and instances keep what they hold"
    )
