# SPDX-License-Identifier: Apache-2.0
"""The facts as they would be with other hosts, ratios or reservations."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from trueup.reconcile.facts import ComputeNode, Facts, HostTopology, Inventory, Provider


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Assumptions: hosts that are gone, more hosts like some, and inventories by class."""

    without: tuple[str, ...] = ()
    more: Mapping[str, int] = field(default_factory=dict)
    ratios: Mapping[str, float] = field(default_factory=dict)
    reserved: Mapping[str, int] = field(default_factory=dict)


def assumed(facts: Facts, what: WhatIf) -> Facts:
    """The facts under these assumptions, of hosts that there are.

    A host that is gone gets no servers; what its servers hold stays. Ratios and reservations are
    those of all compute hosts; a new host has those of the one that it is like, and holds nothing.
    """
    for host, number in what.more.items():
        facts = _with_more(facts, host, [f"+{copy}" for copy in range(1, number + 1)])
    facts = _stocked(facts, what.ratios, what.reserved)
    kept = [row for row in facts.compute_nodes if row.host not in what.without]
    return replace(facts, compute_nodes=tuple(kept))


def _stocked(facts: Facts, ratios: Mapping[str, float], reserved: Mapping[str, int]) -> Facts:
    roots = facts.nodes_by_uuid.keys()
    changed = {
        uuid: replace(
            row,
            inventories={
                n: _stock(n, stock, ratios, reserved) for n, stock in row.inventories.items()
            },
        )
        for uuid, row in facts.providers.items()
        if row.root in roots and row.inventories.keys() & (ratios.keys() | reserved.keys())
    }
    return replace(facts, providers={**facts.providers, **changed})


def _stock(
    name: str, one: Inventory, ratios: Mapping[str, float], reserved: Mapping[str, int]
) -> Inventory:
    return replace(
        one,
        allocation_ratio=ratios.get(name, one.allocation_ratio),
        reserved=reserved.get(name, one.reserved),
    )


def _with_more(facts: Facts, host: str, marks: Sequence[str]) -> Facts:
    """The facts with more hosts like this one, with its trees, service, mapping, aggregates.

    Each mark ends the names and the UUIDs of one of them.
    """
    nodes = [row for row in facts.compute_nodes if row.host == host]
    roots = {row.uuid for row in nodes}
    trees = [row for row in facts.providers.values() if row.root in roots and not row.sharing]
    names = [host + mark for mark in marks]
    pools = {
        row.uuid: replace(
            row, shares_with=row.shares_with | _marked(row.shares_with & roots, marks)
        )
        for row in facts.sharing
    }
    services = [row for row in facts.services if row.host == host]
    mappings = [row for row in facts.host_mappings if row.host == host]
    copies = (copy for mark in marks for copy in _copies(trees, mark))
    return replace(
        facts,
        providers={**facts.providers, **pools, **{copy.uuid: copy for copy in copies}},
        compute_nodes=(
            *facts.compute_nodes,
            *(_empty(row, host + mark, mark) for mark in marks for row in nodes),
        ),
        services=(
            *facts.services,
            *(replace(row, host=name) for row in services for name in names),
        ),
        host_mappings=(
            *facts.host_mappings,
            *(replace(row, host=name) for row in mappings for name in names),
        ),
        host_aggregates=tuple(
            replace(row, hosts=(*row.hosts, *names)) if host in row.hosts else row
            for row in facts.host_aggregates
        ),
    )


def _marked(uuids: Collection[str], marks: Sequence[str]) -> frozenset[str]:
    return frozenset(uuid + mark for uuid in uuids for mark in marks)


def _copies(trees: Iterable[Provider], mark: str) -> Iterable[Provider]:
    for row in trees:
        parent = row.parent + mark if row.parent else None
        yield replace(
            row, uuid=row.uuid + mark, name=row.name + mark, root=row.root + mark, parent=parent
        )


def _empty(node: ComputeNode, host: str, mark: str) -> ComputeNode:
    """The compute node of a new host, of whose NUMA cells nothing is used."""
    numa = node.numa
    if numa is not None and numa.cells is not None:
        cells = (
            replace(
                cell,
                cpus_used=0,
                memory_used_mb=0,
                pinned=frozenset(),
                pages=tuple(replace(size, used=0) for size in cell.pages),
            )
            for cell in numa.cells
        )
        numa = HostTopology(tuple(cells))
    return replace(node, uuid=node.uuid + mark, host=host, node=node.node + mark, numa=numa)
