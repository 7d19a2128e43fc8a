# SPDX-License-Identifier: Apache-2.0
"""Compute nodes and their providers: which are judged, and what each root provider stands for.

Pure rules over facts, shared by the defects of providers so that each provider has one verdict.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from trueup.reconcile.facts import (
    NODE_TRAIT,
    OWNER_TRAIT,
    ComputeNode,
    ComputeService,
    Facts,
    Provider,
)
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.bare_metal import IRONIC
from trueup.reconcile.rules.residence import exchanged
from trueup.reconcile.verdicts import AuditOptions, Structure, Subject

# The traits by which Nova marks the providers that it makes.
OF_NOVA = frozenset({NODE_TRAIT, OWNER_TRAIT})


def judged_nodes(facts: Facts) -> Iterator[ComputeNode]:
    """The compute nodes that are judged, in order.

    Nodes of a cell that may be behind are left out, and so are nodes without a uuid: it is not
    known which provider is theirs.
    """
    for node in sorted(facts.compute_nodes, key=lambda row: (row.host, row.node, row.uuid)):
        if node.uuid and facts.judges(node.uuid) and node.cell not in facts.cells_behind:
            yield node


def nodes_without_provider(facts: Facts) -> Iterator[ComputeNode]:
    """The judged compute nodes whose uuid and name no provider has.

    Placement does not list a provider without a root, which is a finding of its own.
    """
    unlisted = {row.subject for row in facts.ledger_faults if row.kind == "tree"}
    for node in judged_nodes(facts):
        known = node.uuid in facts.providers or node.uuid in unlisted
        if not known and node.node not in facts.providers_by_name:
            yield node


def judged_roots(facts: Facts) -> Iterator[Provider]:
    """The roots of trees that are judged, in order; sharing providers have rules of their own.

    If another provider is its root, its tree is broken, which is a finding of its own.
    """
    for root in sorted(facts.providers.values(), key=lambda row: (row.name, row.uuid)):
        is_root = root.parent is None and root.root == root.uuid
        if is_root and not root.sharing and facts.judges(root.uuid):
            yield root


def judged_hosts(facts: Facts) -> Iterator[tuple[ComputeNode, Provider]]:
    """The compute nodes that are judged and alone have their uuid, with their providers.

    Nodes that exchanged their identity with another node are left out, and so are those whose
    provider has another root: that tree is broken, which is a finding.
    """
    for node in judged_nodes(facts):
        provider = facts.providers.get(node.uuid)
        if provider is None or len(facts.nodes_by_uuid[node.uuid]) > 1:
            continue
        if provider.root != provider.uuid:
            continue
        if exchanged(node, provider, facts) is None:
            yield node, provider


def newly_made(node: ComputeNode, facts: Facts, options: AuditOptions) -> Reason | None:
    """Why a node is left alone for now: nova-compute may still be at work on its provider."""
    if node.created_at is None:
        return None
    age = (facts.taken_at - node.created_at).total_seconds()
    if abs(age) >= options.grace_seconds:
        return None
    return because("node-new", age=round(age), grace=options.grace_seconds)


def service_of(node: ComputeNode, facts: Facts) -> ComputeService | None:
    """The compute service of a node's host."""
    return facts.service_of(node.cell, node.host)


def is_up(node: ComputeNode, facts: Facts) -> bool:
    """Whether the nova-compute of a node's host reports."""
    service = service_of(node, facts)
    return service is not None and service.is_up(facts.taken_at)


def of_another_cell(node: ComputeNode, facts: Facts) -> Reason | None:
    """Why Nova may mean another host by the name of a node's host; or None.

    SAFETY: host aggregates and mappings have only names, and two cells may have hosts of one name.
    """
    others = facts.once(_cells_of_hosts)[node.host.casefold()] - {node.cell}
    if others:
        named = tuple(sorted(facts.cells.get(uuid, uuid) for uuid in others))
        return because("host-in-other-cells", cells=named, host=node.host)
    mapping = facts.host_mapping.get(node.host)
    if mapping is not None and mapping.cell != node.cell:
        mapped = facts.cells.get(mapping.cell, "a cell that is not known")
        cell = facts.cells[node.cell]
        return because("host-mapped-elsewhere", host=node.host, mapped=mapped, cell=cell)
    return None


def _cells_of_hosts(facts: Facts) -> defaultdict[str, set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    places = {(row.host, row.cell) for row in facts.compute_nodes}
    for host, cell in places | {(row.host, row.cell) for row in facts.services}:
        found[host.casefold()].add(cell)
    return found


def node_subject(node: ComputeNode, facts: Facts) -> Subject:
    """The subject of a finding about a compute node: its host, which operators know by name.

    Where a host has several nodes, as with Ironic, or two cells have a host of this name, it is the
    provider with the node's uuid: so each node has a finding of its own.
    """
    if node.hypervisor == IRONIC or facts.once(_nodes_of_hosts)[node.host] > 1:
        return Subject("provider", node.uuid)
    return Subject("host", node.host)


def _nodes_of_hosts(facts: Facts) -> Counter[str]:
    return Counter(row.host for row in facts.compute_nodes)


def node_evidence(node: ComputeNode, facts: Facts) -> Structure:
    """A compute node as evidence."""
    return {
        "name": node.node,
        "uuid": node.uuid,
        "host": node.host,
        "cell": facts.cells.get(node.cell, node.cell),
    }


def provider_evidence(provider: Provider) -> Structure:
    """A provider as evidence."""
    return {"name": provider.name, "uuid": provider.uuid}


@dataclass(frozen=True, slots=True)
class Former:
    """A root provider whose compute node is deleted; `now` are the nodes of that host today.

    For a bare metal node `now` is empty: the other nodes of its nova-compute are other machines.
    """

    node: ComputeNode
    now: tuple[ComputeNode, ...]


@dataclass(frozen=True, slots=True)
class Stranger:
    """A root provider whose compute node no cell knows; `of_nova`: Nova's traits are on it."""

    of_nova: bool


@dataclass(frozen=True, slots=True)
class Namesake:
    """A root provider with the name of this living compute node, which has no provider of its own:
    `own` is None. Or the node has `own`, a provider with its uuid and another name.
    """

    node: ComputeNode
    own: Provider | None


def without_node(root: Provider, facts: Facts) -> Former | Stranger | Namesake | None:
    """What a root provider without a living compute node stands for; None: it has such a node.

    A deleted compute node proves more than a name, unless the living node has no other provider.
    """
    if root.uuid in facts.nodes_by_uuid:
        return None
    namesakes = facts.nodes_by_name.get(root.name, ())
    if any(node.uuid not in facts.providers for node in namesakes):
        return Namesake(namesakes[0], None)
    if rows := facts.deleted_nodes_by_uuid.get(root.uuid):
        node = rows[-1]
        renamed = node.hypervisor != IRONIC
        return Former(node, facts.nodes_by_host.get((node.cell, node.host), ()) if renamed else ())
    if namesakes:
        return Namesake(namesakes[0], facts.providers[namesakes[0].uuid])
    return Stranger(bool(OF_NOVA & (root.traits or frozenset())))
