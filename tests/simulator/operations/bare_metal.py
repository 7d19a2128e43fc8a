# SPDX-License-Identifier: Apache-2.0
"""Bare metal: several nova-computes share Ironic's nodes, and take them over from each other.

nova.virt.ironic.driver, ResourceTracker._check_for_nodes_rebalance, and `nova-manage db
ironic_compute_node_move`. A server is not moved: its node is. No hypervisor knows any of it.
"""

from contextlib import suppress
from dataclasses import replace

from tests.simulator.cloud import LONG, SHORT, Cloud, Impossible, Operation, Server
from tests.simulator.operations.booting import bury
from tests.simulator.places import CONDUCTORS, METAL_CELL, METAL_CLASS, METAL_NODES
from tests.simulator.rows import NodeRow, ProviderRow

# nova-compute reports its nodes once a minute.
REPORTS_EVERY = 60


def boot(cloud: Cloud, server: Server, node: str) -> Operation:
    """A build on a bare metal node, of which it holds the one unit, unless that is gone."""
    cloud.builds.add(server.uuid)
    yield SHORT
    cloud.map(server, None)
    yield LONG
    if node not in cloud.providers:
        yield from bury(cloud, server)
        return
    cloud.hold(server.uuid, {node: {METAL_CLASS: 1}})
    yield SHORT
    cloud.create(server, METAL_CELL, vm_state="building", task_state="scheduling")
    yield SHORT
    cloud.map(server, METAL_CELL)
    yield SHORT
    cloud.builds.discard(server.uuid)
    yield LONG
    host = _rows(cloud)[node].host
    cloud.save(server, host=host, node=node, task_state="spawning")
    yield LONG
    cloud.save(server, vm_state="active", task_state=None)


def free_node(cloud: Cloud, name: str) -> str:
    """A node on which nothing is, and whose nova-compute runs. Raises Impossible."""
    node = METAL_NODES[name]
    row, provider = _rows(cloud).get(node), cloud.providers.get(node)
    if row is None or row.deleted or provider is None or provider.reserved:
        raise Impossible("it is not offered")
    if not _runs(cloud, row.host) or _users(cloud, node) or _is_held(cloud, node):
        raise Impossible("it is in use, or its nova-compute is down")
    return node


def stop(cloud: Cloud, conductor: str) -> None:
    """The nova-compute dies with every build on its nodes."""
    if not _runs(cloud, conductor):
        raise Impossible("it does not run")
    for server in cloud.servers.values():
        if server.flavor.metal and server.operation:
            cloud.crash(server)
    cloud.stopped.add(conductor)


def start(cloud: Cloud, conductor: str) -> None:
    services = cloud.cells[METAL_CELL].services
    if conductor not in cloud.stopped or conductor not in services:
        raise Impossible("it runs, or was deleted")
    cloud.stopped.discard(conductor)
    services[conductor] = replace(services[conductor], last_seen=cloud.now)


def take_over(cloud: Cloud, name: str, conductor: str) -> None:
    """A node goes to another nova-compute, which restores its compute node and its provider."""
    node, rows = METAL_NODES[name], _rows(cloud)
    if node not in rows or not _runs(cloud, conductor) or not cloud.cells[METAL_CELL].answers:
        raise Impossible("its nova-compute is down, or the cell")
    if rows[node].host == conductor and not rows[node].deleted:
        raise Impossible("it has it already")
    cloud.cells[METAL_CELL].nodes[node] = replace(rows[node], host=conductor, deleted=False)
    _make_provider(cloud, node)


def follow(cloud: Cloud, name: str) -> None:
    """The instances on a node get its present host, as `ironic_compute_node_move` does it."""
    node, rows = METAL_NODES[name], _rows(cloud)
    cell = cloud.cells[METAL_CELL]
    if node not in rows or rows[node].deleted or not cell.answers:
        raise Impossible("the node is gone, or its cell is down")
    host = rows[node].host
    moved = [one for one in _users(cloud, node) if cloud.row(one).host not in (None, host)]
    if not moved:
        raise Impossible("they are there already")
    for server in moved:
        cloud.save(server, host=host)


def lose_node(cloud: Cloud, name: str) -> None:
    """Launchpad 1853009: the nova-compute that had a node takes it for gone, and deletes it."""
    node, rows = METAL_NODES[name], _rows(cloud)
    if node not in rows or rows[node].deleted or not _runs(cloud, rows[node].host):
        raise Impossible("it is gone, or its nova-compute is down")
    cloud.cells[METAL_CELL].nodes[node] = replace(rows[node], deleted=True)
    _drop_provider(cloud, node)


def delete_service(cloud: Cloud, conductor: str) -> None:
    """`openstack compute service delete` of a nova-compute that is down for good."""
    cell = cloud.cells[METAL_CELL]
    if conductor not in cloud.stopped or conductor not in cell.services or not cell.answers:
        raise Impossible("it runs, or was deleted")
    del cell.services[conductor]
    del cloud.host_mappings[conductor]
    for node, row in list(_rows(cloud).items()):
        if row.host == conductor and not row.deleted:
            cell.nodes[node] = replace(row, deleted=True)
            _drop_provider(cloud, node)


def lose_claim(cloud: Cloud, name: str) -> None:
    """What a server on bare metal holds is lost."""
    server = cloud.servers.get(name)
    if server is None or not server.flavor.metal or not server.settled or server.gone:
        raise Impossible("it is not on bare metal")
    if not cloud.held(server.uuid) or not cloud.has_row(server) or cloud.row(server).task_state:
        raise Impossible("it holds nothing, or is busy")
    cloud.write(**{server.uuid: {}})
    cloud.leave(server.uuid)


def report(cloud: Cloud) -> None:
    """Each nova-compute that runs reserves its nodes in use, and makes missing providers."""
    if not cloud.cells[METAL_CELL].answers:
        return
    for node, row in _rows(cloud).items():
        if row.deleted or not _runs(cloud, row.host):
            continue
        _make_provider(cloud, node)
        provider = cloud.providers[node]
        reserved = int(bool(_users(cloud, node)))
        if provider.reserved != reserved:
            cloud.providers[node] = replace(
                provider, reserved=reserved, generation=provider.generation + 1
            )


def settle(cloud: Cloud) -> None:
    """All nova-computes run again, and the instances are where their nodes are."""
    for conductor in CONDUCTORS:
        if conductor in cloud.cells[METAL_CELL].services:
            cloud.stopped.discard(conductor)
    for name in METAL_NODES:
        with suppress(Impossible):
            follow(cloud, name)
    report(cloud)


def _rows(cloud: Cloud) -> dict[str, NodeRow]:
    return {key: row for key, row in cloud.cells[METAL_CELL].nodes.items() if row.metal}


def _runs(cloud: Cloud, conductor: str) -> bool:
    return conductor in cloud.cells[METAL_CELL].services and conductor not in cloud.stopped


def _users(cloud: Cloud, node: str) -> list[Server]:
    """The servers whose row says that they are on this node."""
    known = filter(cloud.has_row, cloud.servers.values())
    return [one for one in known if cloud.row(one).node == node and not cloud.row(one).deleted]


def _is_held(cloud: Cloud, node: str) -> bool:
    return any(node in claim.amounts for claim in cloud.ledger.values())


def _make_provider(cloud: Cloud, node: str) -> None:
    if node not in cloud.providers:
        traits = frozenset({"OWNER_NOVA"})
        cloud.providers[node] = ProviderRow(node, node, {METAL_CLASS: 1}, traits=traits)


def _drop_provider(cloud: Cloud, node: str) -> None:
    """Placement refuses to delete a provider of which something is held."""
    if not _is_held(cloud, node):
        cloud.providers.pop(node, None)
