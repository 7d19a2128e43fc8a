# SPDX-License-Identifier: Apache-2.0
"""Provider identity clash: a compute node and a provider have the same name and different uuids.

Launchpad 1817833: nova-compute gets 409 "Conflicting resource provider name" each time it tries to
make its provider, and reports nothing. Or another provider has the node's uuid: then Placement
counts the host twice. Or its provider was renamed: Nova finds providers by uuid, and Neutron and
`nova-manage placement sync_aggregates` find them by name.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import ComputeNode, Facts, Provider
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.machines import other_names, way_back
from trueup.reconcile.rules.nodes import (
    Namesake,
    judged_nodes,
    node_evidence,
    node_subject,
    provider_evidence,
    without_node,
)
from trueup.reconcile.rules.residence import exchanged, is_renamed
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Evidence,
    Finding,
    IfComplete,
    Need,
    Scope,
    Severity,
    Verdict,
)

NAME = "provider-identity-clash"
TITLE = "The uuid and the name of a compute node are not those of one provider"
REMEDY = "None in a plan: `trueup rekey` or `trueup merge` finds out which provider is right"
SEVERITIES = (Severity.HIGH, Severity.MEDIUM)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict | IfComplete]:
    """Compute nodes whose uuid and name are not those of one provider.

    Nodes that share one uuid are left out: the audit says that it cannot check them.
    """
    for node in judged_nodes(facts):
        if len(facts.nodes_by_uuid[node.uuid]) > 1:
            continue
        if provider := _renamed(node, facts):
            severity = Severity.HIGH if exchanged(node, provider, facts) else Severity.MEDIUM
            yield Finding(
                NAME, node_subject(node, facts), node.node, severity,
                _evidence(node, provider, facts),
            )  # fmt: skip
        namesakes = facts.providers_by_name.get(node.node, ())
        if len(namesakes) != 1:
            continue
        if node.uuid not in facts.providers:
            yield Finding(
                NAME, node_subject(node, facts), node.node, Severity.HIGH,
                _evidence(node, namesakes[0], facts),
            )  # fmt: skip
        elif isinstance(fate := without_node(namesakes[0], facts), Namesake) and fate.own:
            yield _beside(namesakes[0], node, fate.own, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None: only an operator knows which of the two uuids is right."""
    named = facts.nodes_by_name[finding.where]
    node = next(row for row in named if node_subject(row, facts) == finding.subject)
    if renamed := _renamed(node, facts):
        return _rename(renamed, node, facts)
    [provider] = facts.providers_by_name[finding.where]
    fate = without_node(provider, facts)
    if isinstance(fate, Namesake) and fate.own:
        return _merge(provider, fate.own, facts)
    if owners := facts.nodes_by_uuid.get(provider.uuid):
        # SAFETY: the provider belongs to a living host, and renaming it would break that host.
        other = owners[0]
        if other.host in other_names(node.host, facts):
            way = way_back(node.host, facts)
            return because("one-machine", way, host=node.host, other=other.host)
        return because(
            "two-nodes-one-name", node=finding.where, host=other.host, cell=facts.cells[other.cell]
        )
    return because("run-rekey", host=node.host)


def _renamed(node: ComputeNode, facts: Facts) -> Provider | None:
    """The provider with a compute node's uuid and another name, if only it can be the node's.

    No provider has the node's name, or only that of another compute node.
    """
    provider = facts.providers.get(node.uuid)
    if provider is None or not is_renamed(node, provider):
        return None
    if len(facts.nodes_by_name[node.node]) > 1:
        return None
    missing = node.node not in facts.providers_by_name
    return provider if missing or exchanged(node, provider, facts) else None


def _rename(provider: Provider, node: ComputeNode, facts: Facts) -> Reason:
    if other := exchanged(node, provider, facts):
        return because(
            "names-exchanged",
            node=node.node,
            other=other.node,
            host=node.host,
            provider=provider.uuid,
        )
    if not node.node:
        return because("node-without-name", cell=facts.cells[node.cell], provider=provider.name)
    return because("rename-provider", node=node.node, provider=provider.uuid)


def _beside(namesake: Provider, node: ComputeNode, own: Provider, facts: Facts) -> IfComplete:
    """A provider with the name of a compute node, while another provider has the node's uuid.

    SAFETY: a silent cell may have a compute node with this provider's uuid.
    """
    evidence = {**_evidence(node, namesake, facts), "own_provider": provider_evidence(own)}
    subject = node_subject(node, facts)
    return IfComplete(Finding(NAME, subject, node.node, Severity.HIGH, evidence))


def _evidence(node: ComputeNode, provider: Provider, facts: Facts) -> Evidence:
    return {
        "compute_node": node_evidence(node, facts),
        "provider": provider_evidence(provider),
    }


def _merge(namesake: Provider, own: Provider, facts: Facts) -> Reason:
    """SAFETY: one name does not prove that the allocations of both providers are of one host."""
    if facts.consumers_of.get(namesake.uuid):
        does = because("run-merge", namesake=namesake.uuid, own=own.uuid)
    else:
        does = because("delete-namesake", namesake=namesake.uuid)
    return because("then-rename", does, name=namesake.name, own=own.uuid)
