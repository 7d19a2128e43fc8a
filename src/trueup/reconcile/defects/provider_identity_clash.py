# SPDX-License-Identifier: Apache-2.0
"""Provider identity clash: a compute node and a provider have the same name and different uuids.

Seed 000, drift B.20, Launchpad 1817833: nova-compute gets 409 "Conflicting resource provider name"
each time it tries to make its provider, and reports nothing. Or the compute node has a provider
with its uuid as well, under another name: then Placement counts the host twice.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import ComputeNode, Facts, Provider
from trueup.reconcile.findings import (
    Declined,
    Evidence,
    Finding,
    Severity,
    Subject,
    Unchecked,
    Verdict,
)
from trueup.reconcile.nodes import (
    Namesake,
    judged_nodes,
    node_evidence,
    provider_evidence,
    without_node,
)
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.steps import Step

NAME = "provider-identity-clash"
TITLE = "Its compute node and the provider of that name have different uuids"
REMEDY = "None in a plan: `trueup rekey` or `trueup merge` finds out which provider is right"
SEVERITIES = (Severity.HIGH,)


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Compute nodes with the name of a provider that has another uuid."""
    for node in judged_nodes(facts):
        namesakes = facts.providers_by_name.get(node.node, ())
        if len(namesakes) != 1:
            continue
        if node.uuid not in facts.providers:
            yield Finding(
                NAME, Subject("host", node.host), node.node, Severity.HIGH,
                _evidence(node, namesakes[0], facts),
            )  # fmt: skip
        elif isinstance(fate := without_node(namesakes[0], facts), Namesake) and fate.own:
            yield _beside(namesakes[0], node, fate.own, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """None: only an operator knows which of the two uuids is the right one."""
    [provider] = facts.providers_by_name[finding.where]
    fate = without_node(provider, facts)
    if isinstance(fate, Namesake) and fate.own:
        return _merge(provider, fate.own, facts)
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


def _beside(namesake: Provider, node: ComputeNode, own: Provider, facts: Facts) -> Verdict:
    """A provider with the name of a compute node that has another provider, with its uuid."""
    subject = Subject("host", node.host)
    if not facts.coverage.complete:
        # SAFETY: a cell that is silent may have a compute node with its uuid.
        return Unchecked(
            subject,
            node.node,
            f"provider {namesake.uuid} has the name of its compute node, whose provider is "
            f"{own.name}, but {facts.coverage.gap}",
        )
    evidence: Evidence = {
        **_evidence(node, namesake, facts),
        "own_provider": provider_evidence(own),
    }
    return Finding(NAME, subject, node.node, Severity.HIGH, evidence)


def _evidence(node: ComputeNode, provider: Provider, facts: Facts) -> Evidence:
    return {
        "compute_node": node_evidence(node, facts),
        "provider": provider_evidence(provider),
    }


def _merge(namesake: Provider, own: Provider, facts: Facts) -> Declined:
    """SAFETY: one name is no proof that what is held of both providers is of one host."""
    if facts.consumers_of.get(namesake.uuid):
        does = (
            f"run `trueup merge {namesake.uuid} {own.uuid}`: what consumers hold of the first "
            "moves to the second, which is the compute node's, and the first is deleted"
        )
    else:
        does = (
            "no consumer that was read holds its resources: run `openstack resource provider "
            f"delete {namesake.uuid}`"
        )
    return Declined(
        f"{does}; then run `openstack resource provider set --name {namesake.name} {own.uuid}`"
    )
