# SPDX-License-Identifier: Apache-2.0
"""What administrators and failures do to a cloud, and what Neutron's agents would have made."""

import contextlib
import uuid
from collections.abc import Iterable, Iterator

from openstack.compute.v2.server import Server
from openstack.network.v2.port import Port

from tests.real.cloud.catalog import BANDWIDTH_NETWORK, PHYSICAL_NETWORK
from tests.real.cloud.openstack import Cloud, nova_manage

EGRESS, INGRESS = "NET_BW_EGR_KILOBIT_PER_SEC", "NET_BW_IGR_KILOBIT_PER_SEC"
PACKETS = "NET_PACKET_RATE_KILOPACKET_PER_SEC"


def delete_by_sql(cloud: Cloud, server: Server) -> None:
    """Its row says that it was deleted a day ago; Placement was never told.

    Its files are cleaned, too: nova-compute looks for those of deleted instances every five
    minutes, and writes the row.
    """
    cloud.sql(
        cloud.cell_of(server.compute_host),
        "UPDATE instances SET deleted = id, vm_state = 'deleted', cleaned = 1,"
        " deleted_at = NOW() - INTERVAL 1 DAY, terminated_at = NOW() - INTERVAL 1 DAY"
        " WHERE uuid = :uuid",
        uuid=server.id,
    )


def lose_the_ledger(cloud: Cloud) -> None:
    """Placement's database is there and empty, without a table."""
    cloud.server.execute("DROP DATABASE placement")
    cloud.server.execute("CREATE DATABASE placement CHARACTER SET utf8mb3")


@contextlib.contextmanager
def changed_uuid(cloud: Cloud, host: str) -> Iterator[None]:
    """A stopped host has another uuid in its cell's database; at the end it is as it was."""
    change = "UPDATE compute_nodes SET uuid = :new WHERE uuid = :old AND deleted = 0"
    [found] = cloud.connection.placement.resource_providers(name=host)
    own, other = found.id, str(uuid.uuid4())
    cloud.processes.kill(f"nova-compute-{host}")
    cloud.sql(cloud.cell_of(host), change, old=own, new=other)
    try:
        yield
    finally:
        cloud.sql(cloud.cell_of(host), change, old=other, new=own)
        cloud.start_computes(host)


def reinstalled(cloud: Cloud, host: str) -> str:
    """A stopped host has another uuid in its cell's database and on its disk; the uuid."""
    [file] = cloud.site.state("nova").glob(f"{host}-*/compute_id")
    old, new = file.read_text().strip(), str(uuid.uuid4())
    cloud.kill_compute(host)
    file.write_text(new)
    change = "UPDATE compute_nodes SET uuid = :new WHERE uuid = :old AND deleted = 0"
    cloud.sql(cloud.cell_of(host), change, old=old, new=new)
    return new


@contextlib.contextmanager
def abandoned(cloud: Cloud, host: str) -> Iterator[None]:
    """A dead host whose compute service will be deleted; at the end it comes back as a new one."""
    cloud.kill_compute(host)
    try:
        yield
    finally:
        cloud.start_computes(host)
        nova_manage(cloud.site, "cell_v2", "discover_hosts", "--by-service")


def delete_service(cloud: Cloud, host: str) -> None:
    """Over Nova's API."""
    [service] = cloud.connection.compute.services(host=host, binary="nova-compute")
    cloud.connection.compute.delete_service(service)


def bandwidth_on(cloud: Cloud, host: str) -> str:
    """The providers that Neutron's agent would report for a host; the name of the bridge's."""
    placement = cloud.connection.placement
    [root] = placement.resource_providers(name=host)
    name = f"{host}:agent:bridge"
    if found := list(placement.resource_providers(name=name)):
        return found[0].name
    agent = placement.create_resource_provider(name=f"{host}:agent", parent_provider_uuid=root.id)
    bridge = placement.create_resource_provider(name=name, parent_provider_uuid=agent.id)
    card, wire = "CUSTOM_VNIC_TYPE_NORMAL", f"CUSTOM_PHYSNET_{PHYSICAL_NETWORK.upper()}"
    for trait in (card, wire):
        placement.put(f"/traits/{trait}", microversion="1.6").raise_for_status()
    _report(cloud, bridge.id, [card, wire], (EGRESS, INGRESS))
    _report(cloud, agent.id, [card], (PACKETS,))
    # nova-compute has its providers in memory, and would fail for one that it does not know.
    cloud.restart_computes(host)
    return name


def _report(cloud: Cloud, uuid: str, traits: list[str], classes: Iterable[str]) -> None:
    placement, path = cloud.connection.placement, f"/resource_providers/{uuid}"
    for part, value in (
        ("traits", traits),
        ("inventories", {name: {"total": 10**6} for name in classes}),
    ):
        generation = placement.get(path, microversion="1.39").json()["generation"]
        document = {part: value, "resource_provider_generation": generation}
        placement.put(f"{path}/{part}", json=document, microversion="1.39").raise_for_status()


def port_with_bandwidth(cloud: Cloud) -> Port:
    """A port whose policy guarantees bandwidth in both directions."""
    network = cloud.connection.network
    policy = network.create_qos_policy(name="guaranteed")
    for kbps, direction in ((1000, "egress"), (2000, "ingress")):
        network.create_qos_minimum_bandwidth_rule(policy, min_kbps=kbps, direction=direction)
    where = network.find_network(BANDWIDTH_NETWORK, ignore_missing=False)
    return network.create_port(network_id=where.id, qos_policy_id=policy.id)
