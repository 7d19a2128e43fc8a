# SPDX-License-Identifier: Apache-2.0
"""The places for servers: compute hosts, which of them Nova leaves out, and in which order."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from trueup.placement.index.view.columns import View
from trueup.reconcile.facts import (
    DISABLED_TRAIT,
    ComputeNode,
    Facts,
    HostAggregate,
    Provider,
    grouped,
)
from trueup.reconcile.rules.nodes import is_up, service_of
from trueup.reconcile.scheduling.numa import HostCells

# Nova's default_availability_zone, of hosts that are in none.
DEFAULT_ZONE = "nova"
_ZONE, _SERVERS_MAX = "availability_zone", "max_instances_per_host"
# The classes that Nova's CPU, RAM and disk weighers look at; each counts alike by default.
_WEIGHED = ("VCPU", "MEMORY_MB", "DISK_GB")
_HOST_MAPPINGS = "host mappings"


class LeftOut(StrEnum):
    """Why Nova's scheduler places nothing on a host, whatever room it has."""

    DISABLED = "disabled"
    DOWN = "down"
    NO_SERVICE = "no-service"
    NOT_MAPPED = "not-mapped"
    CELL_DISABLED = "cell-disabled"
    NO_PROVIDER = "no-provider"
    BROKEN_TREE = "broken-tree"
    SAME_PROVIDER = "same-provider"


@dataclass(frozen=True, slots=True)
class Place:
    """A compute node as a place for servers; `provider` is the uuid of its root provider.

    `servers_max` is how many more servers its aggregates allow (`max_instances_per_host`).
    """

    host: str
    node: str
    cell: str
    zone: str
    aggregates: tuple[str, ...]
    provider: str
    left_out: LeftOut | None = None
    servers_max: int | None = None


def places(facts: Facts) -> tuple[Place, ...]:
    """Every compute node that was read, by host and node."""
    servers = Counter((row.cell, row.host) for row in facts.alive.values())
    named = sorted(facts.host_aggregates, key=lambda row: row.name)
    aggregates = grouped((host, aggregate) for aggregate in named for host in aggregate.hosts)
    nodes = sorted(facts.compute_nodes, key=lambda row: (row.host, row.node, row.uuid))
    found = [
        _place(node, aggregates.get(node.host, ()), servers[node.cell, node.host], facts)
        for node in nodes
    ]
    # What two compute nodes have together is there once.
    firsts: dict[str, Place] = {}
    for place in found:
        if place.left_out is None:
            firsts.setdefault(place.provider, place)
    return tuple(
        place
        if place.left_out or firsts[place.provider] is place
        else replace(place, left_out=LeftOut.SAME_PROVIDER)
        for place in found
    )


def _place(
    node: ComputeNode, aggregates: Sequence[HostAggregate], servers: int, facts: Facts
) -> Place:
    zones = [aggregate.metadata[_ZONE] for aggregate in aggregates if aggregate.metadata.get(_ZONE)]
    limits = [aggregate.metadata.get(_SERVERS_MAX, "") for aggregate in aggregates]
    allowed = [int(text) for text in limits if text.isdecimal()]
    return Place(
        host=node.host,
        node=node.node,
        cell=facts.cells.get(node.cell, node.cell),
        zone=zones[0] if zones else DEFAULT_ZONE,
        aggregates=tuple(aggregate.name for aggregate in aggregates),
        provider=node.uuid,
        left_out=_left_out(node, facts),
        servers_max=max(min(allowed) - servers, 0) if allowed else None,
    )


def _left_out(node: ComputeNode, facts: Facts) -> LeftOut | None:
    service, provider = service_of(node, facts), facts.providers.get(node.uuid)
    if provider is None:
        return LeftOut.NO_PROVIDER
    if provider.root in facts.broken_roots or provider.root != provider.uuid:
        return LeftOut.BROKEN_TREE
    if node.cell in facts.disabled_cells:
        return LeftOut.CELL_DISABLED
    if service is None:
        return LeftOut.NO_SERVICE
    if service.disabled or DISABLED_TRAIT in (provider.traits or ()):
        return LeftOut.DISABLED
    if not is_up(node, facts):
        return LeftOut.DOWN
    if facts.has(_HOST_MAPPINGS) and node.host not in facts.host_mapping:
        return LeftOut.NOT_MAPPED
    return None


def unknown_hosts(facts: Facts) -> tuple[Provider, ...]:
    """Providers of hosts whose compute node was not read: how much fits there is not known."""
    return tuple(
        row
        for row in facts.providers.values()
        if not facts.coverage.complete
        and row.root == row.uuid
        and not row.sharing
        and "MEMORY_MB" in row.inventories
        and row.uuid not in facts.nodes_by_uuid
    )


def in_order(every: Iterable[Place], view: View) -> list[tuple[Place, int]]:
    """The places that Nova uses, with the positions of their providers, in the order of filling.

    The host with the most free comes first, as by Nova's weighers with their default multipliers:
    free CPUs, memory and disk, each divided by the most that any host has; then by name.
    """
    by_uuid = view.forest.by_uuid
    usable = [(place, by_uuid[place.provider]) for place in every if place.left_out is None]
    preferred = weights([root for _, root in usable], view)
    ranked = sorted(
        zip(usable, preferred, strict=True),
        key=lambda row: (-row[1], row[0][0].host, row[0][0].node),
    )
    return [place for place, _ in ranked]


def weights(roots: Sequence[int], view: View) -> list[float]:
    """How much Nova prefers each of these hosts."""
    total = np.zeros(len(roots))
    for name in _WEIGHED:
        column = view.inventories.get(name)
        if column is None or not roots:
            continue
        free = np.zeros(len(view.forest))
        unused = np.where(np.isfinite(column.capacity), column.capacity, 0) - column.used
        np.add.at(free, view.forest.roots[column.positions], unused)
        of_hosts = free[np.array(roots)]
        least, most = of_hosts.min(), of_hosts.max()
        if most > least:
            total += (of_hosts - least) / (most - least)
    # Of hosts that are alike the sums may differ in the last digits.
    return [round(weight, 9) for weight in total.tolist()]


def cells_of(place: Place, facts: Facts) -> HostCells | None:
    """The NUMA cells of a host; None: it reports none that can be understood."""
    [*nodes], provider = (
        facts.nodes_by_uuid.get(place.provider, ()),
        facts.providers[place.provider],
    )
    if len(nodes) != 1 or nodes[0].numa is None or nodes[0].numa.cells is None:
        return None
    cpu_ratio, ram_ratio = (
        provider.inventories[name].allocation_ratio if name in provider.inventories else 1.0
        for name in ("VCPU", "MEMORY_MB")
    )
    return HostCells(nodes[0].numa.cells, cpu_ratio, ram_ratio)
