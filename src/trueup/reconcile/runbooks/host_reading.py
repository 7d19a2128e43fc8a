# SPDX-License-Identifier: Apache-2.0
"""Reads what a runbook needs about one host, beyond the facts of an audit."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from trueup.reconcile import changes
from trueup.reconcile.collect.scope import spellings
from trueup.reconcile.facts import ComputeNode, Holding, Migration, NetworkAgent, as_compared
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import ProviderContents, WholeProvider


@dataclass(frozen=True, slots=True)
class HostReading:
    """One host: migrations from and to it, its network agents, and the contents of its providers.

    `agents` is None if Neutron was not asked; `agents_gone`: the operator says that no agent runs
    any more. `contents` are complete, by provider uuid: the facts of a whole cloud leave out most
    traits and aggregates. `holdings` are those of all consumers on the host, if requested.
    """

    moves: tuple[Migration, ...]
    agents: tuple[NetworkAgent, ...] | None
    contents: Mapping[str, ProviderContents]
    holdings: Mapping[str, Holding] = field(default_factory=dict)
    agents_gone: bool = False


def spelled(host: str, cloud: Cloud) -> str:
    """A host as Nova's compute nodes spell it, if it has it in other letters only."""
    every = [cloud.nova.hosts(cell) for cell in cloud.nova.cells()]
    known = {row.host for contents in every for row in contents.services}
    nodes = [row for contents in every for row in contents.compute_nodes]
    if host in known or any(row.host == host for row in nodes):
        return host
    return spellings(nodes).get(as_compared(host), host)


def read_host(cloud: Cloud, host: str, providers: Iterable[str]) -> HostReading:
    """The present state of a host. Raises Unreachable and AccessDenied."""
    moves = (row for cell in cloud.nova.cells() for row in cloud.nova.moves_at(cell, host))
    found = {uuid: changes.read(WholeProvider(uuid), cloud).state for uuid in providers}
    return HostReading(
        moves=tuple(moves),
        agents=cloud.neutron.agents(host) if cloud.neutron else None,
        contents={uuid: row for uuid, row in found.items() if isinstance(row, ProviderContents)},
    )


def former_providers(cloud: Cloud, host: str) -> frozenset[str] | None:
    """The remaining providers, by uuid, of a host whose service and compute nodes are deleted.

    None: the host is not deleted, or no cell ever had it.
    """
    every = [cloud.nova.hosts(cell) for cell in cloud.nova.cells()]
    services = [row for cell in every for row in cell.services if row.host == host]
    nodes = [row for cell in every for row in cell.compute_nodes if row.host == host]
    gone = [row.deleted for row in services] + [row.deleted for row in nodes]
    if not gone or not all(gone):
        return None
    path = "/resource_providers/{}"
    uuids = {row.uuid for row in nodes}
    return frozenset(uuid for uuid in uuids if cloud.placement.document(path.format(uuid)))


def left_of(cloud: Cloud, host: str, providers: Iterable[str]) -> tuple[str, ...]:
    """The parts of a host and of these providers that Nova and Placement still have, in words."""
    left, host = [], spelled(host, cloud)
    for cell in cloud.nova.cells():
        contents = cloud.nova.hosts(cell)
        left += [
            f"{cell.name} has a compute service of {host}"
            for row in contents.services
            if row.host == host and not row.deleted
        ]
    left += [
        f"compute node {row.node} is not deleted"
        for row in _nodes(cloud)
        if row.host == host and not row.deleted
    ]
    registry = cloud.nova.registry(cloud.nova.cells(), ())
    left += [f"{host} is mapped to a cell" for row in registry.host_mappings if row.host == host]
    left += [
        f"host aggregate {row.name} has {host}"
        for row in registry.host_aggregates
        if host in row.hosts
    ]
    return (*left, *providers_left(cloud, providers))


def providers_left(cloud: Cloud, providers: Iterable[str]) -> Iterator[str]:
    """The providers among these that Placement still has, in words."""
    for uuid in providers:
        if row := cloud.placement.document(f"/resource_providers/{uuid}"):
            yield f"Placement has the provider {row['name']} ({uuid})"


def without_provider(cloud: Cloud, host: str) -> tuple[str, ...]:
    """The compute nodes of a host without a provider of the same uuid and name, in words."""
    left, host = [], spelled(host, cloud)
    for node in _nodes(cloud):
        if node.host == host and not node.deleted:
            row = cloud.placement.document(f"/resource_providers/{node.uuid}")
            if row is None or row["name"] != node.node:
                left.append(f"no provider has the name and the uuid of compute node {node.node}")
    return tuple(left)


def _nodes(cloud: Cloud) -> tuple[ComputeNode, ...]:
    every = (cloud.nova.hosts(cell) for cell in cloud.nova.cells())
    return tuple(row for contents in every for row in contents.compute_nodes)
