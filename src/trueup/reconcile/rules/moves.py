# SPDX-License-Identifier: Apache-2.0
"""Hosts of moves: which host a migration names, however its row spells the name. Pure.

Nova on MySQL compares names of hosts without case; a row may lack the node, and the host may be
deleted or have another name now.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from trueup.reconcile.facts import (
    ComputeNode,
    ComputeService,
    Facts,
    InstanceRecord,
    Migration,
    Provider,
    grouped,
)
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.bare_metal import IRONIC

# A cell and the name of a host, or of a node, in it.
_Name = tuple[str, str]


@dataclass(frozen=True, slots=True)
class MoveHost:
    """A host that a migration names, as the facts have it: without rows, it is deleted."""

    cell: str
    name: str
    nodes: tuple[ComputeNode, ...] = ()
    service: ComputeService | None = None


def root_of(cell: str, host: str | None, node: str | None, facts: Facts) -> str | None:
    """The root provider of a host: by its compute node, alive or deleted, or else by name."""
    if living := _called(facts.once(_nodes_by_host), cell, host, node):
        provider = facts.providers.get(living[0].uuid) if len(living) == 1 else None
        return provider.root if provider else None
    former = _called(facts.once(_deleted_by_host), cell, host, node)
    roots = {facts.providers[row.uuid].root for row in former if row.uuid in facts.providers}
    if not roots:
        name = (node or host or "").casefold()
        roots = {row.root for row in facts.once(_providers_by_name).get(name, ())}
    return roots.pop() if len(roots) == 1 else None


def left_by(move: Migration, facts: Facts) -> str | None:
    """The root provider of the host that a migration starts from."""
    return root_of(move.cell, move.source_host, move.source_node, facts)


def source_hosts(move: Migration, facts: Facts) -> tuple[MoveHost, ...]:
    """The hosts that a migration may start from; nearly always one.

    If its cell has no compute node of the source host, another cell's host of this name may be the
    source. If the cell has no compute service of that host either, so may the host that now has the
    source node, or its provider. Bare metal nodes go from one nova-compute to another.
    """
    cell, name = move.cell, move.source_host or ""
    named = _host(cell, name, facts)
    if named.nodes:
        return (named,)
    hosts = {(other, name) for other in facts.once(_cells_by_host).get(name.casefold(), ())}
    if not named.service:
        node = (move.source_node or "").casefold()
        now = (
            *facts.once(_nodes_by_name).get((cell, node), ()),
            *facts.nodes_by_uuid.get(left_by(move, facts) or "", ()),
        )
        hosts |= {(row.cell, row.host) for row in now if row.hypervisor != IRONIC}
    return tuple(_host(*host, facts) for host in sorted(hosts)) or (named,)


def uncleaned(record: InstanceRecord) -> tuple[Migration, ...]:
    """The evacuations of an instance whose source has not cleaned up: it may still run the guest.

    Only a source that has come back and has cleaned up sets `completed`.
    """
    moves = (row for row in record.migrations if row.kind == "evacuation")
    return tuple(row for row in moves if row.status == "done")


def has_no_domain(host: str, uuid: str, facts: Facts) -> bool:
    """Whether a host's hypervisor answered, and has no domain of an instance, not even defined."""
    domains = facts.domains_of.get(uuid, ())
    return facts.hypervisor_answered(host) and all(row.host != host for row in domains)


def may_run(move: Migration, record: InstanceRecord, facts: Facts) -> Reason | None:
    """Why the source of an evacuation that has not cleaned up may run the guest; None: it cannot.

    SAFETY: a host has no guest if its hypervisor says so, or its service is down, or its compute
    node is deleted too. A name that no host has, or had, proves nothing.
    """
    if not move.source_host:
        return because("evacuated-from-unknown")
    sources = source_hosts(move, facts)
    hosts = [host for host in sources if not has_no_domain(host.name, record.uuid, facts)]
    for host in hosts:
        if host.service and host.service.is_up(facts.taken_at):
            return because("source-up", _ways_out(host.name, facts), host=host.name)
    for host in hosts:
        named = {"host": host.name, "cell": facts.cells.get(host.cell, host.cell)}
        if host.nodes and host.service is None:
            return because("source-without-service", **named)
        if not host.nodes and host.service is None and not _was_there(move, record, facts):
            return because("source-unknown", **named)
    return None


def _ways_out(host: str, facts: Facts) -> Reason:
    if facts.hypervisor_answered(host):
        return because("hypervisor-has-domain")
    return because("ask-hypervisor")


def first_that_may_run(
    moves: tuple[Migration, ...], record: InstanceRecord, facts: Facts
) -> Reason | None:
    """Why the source of one of these evacuations may run the guest: the first reason; or None."""
    return next(filter(None, (may_run(row, record, facts) for row in moves)), None)


def _was_there(move: Migration, record: InstanceRecord, facts: Facts) -> bool:
    """Whether the source is deleted, or the provider that it left behind is held.

    Where deleted rows are archived, or are not shown, only the provider is known.
    """
    name = (move.cell, (move.source_host or "").casefold())
    services = ((row.cell, row.host.casefold()) for row in facts.deleted_services)
    if name in facts.once(_deleted_by_host) or name in services:
        return True
    held = (facts.roots_of(amounts) for amounts in (record.own, *record.moves.values()))
    return left_by(move, facts) in frozenset().union(*held)


def _host(cell: str, name: str, facts: Facts) -> MoveHost:
    nodes = facts.once(_nodes_by_host).get((cell, name.casefold()), ())
    service = facts.service_of(cell, name)
    return MoveHost(cell, nodes[0].host if nodes else name, nodes, service)


def _called(
    nodes: Mapping[_Name, tuple[ComputeNode, ...]], cell: str, host: str | None, node: str | None
) -> tuple[ComputeNode, ...]:
    """The nodes of a host that have this name; all of them if none is given."""
    rows = nodes.get((cell, (host or "").casefold()), ())
    return tuple(row for row in rows if not node or row.node.casefold() == node.casefold())


def _nodes_by_host(facts: Facts) -> dict[_Name, tuple[ComputeNode, ...]]:
    return grouped(((row.cell, row.host.casefold()), row) for row in facts.compute_nodes)


def _cells_by_host(facts: Facts) -> dict[str, tuple[str, ...]]:
    """The cells that have a compute node or a compute service of each host."""
    places = {(row.host.casefold(), row.cell) for row in facts.compute_nodes if row.host}
    places |= {(row.host.casefold(), row.cell) for row in facts.services if row.host}
    return grouped(sorted(places))


def _nodes_by_name(facts: Facts) -> dict[_Name, tuple[ComputeNode, ...]]:
    return grouped(((row.cell, row.node.casefold()), row) for row in facts.compute_nodes)


def _deleted_by_host(facts: Facts) -> dict[_Name, tuple[ComputeNode, ...]]:
    return grouped(((row.cell, row.host.casefold()), row) for row in facts.deleted_compute_nodes)


def _providers_by_name(facts: Facts) -> dict[str, tuple[Provider, ...]]:
    return grouped((row.name.casefold(), row) for row in facts.providers.values())
