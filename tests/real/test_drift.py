# SPDX-License-Identifier: Apache-2.0
"""Drift made with real clients: found, planned, applied, undone, on either Placement.

After each repair Nova's own commands find nothing to change, and the hosts that were touched still
take and release an instance.
"""

import pytest

from tests.real.cloud.catalog import BANDWIDTH_NETWORK, PHYSICAL_NETWORK, SMALL, TINY
from tests.real.cloud.processes import wait_until
from tests.real.cloud.site import CELL_OF_COMPUTE
from tests.real.cloud.trueup import CLEAN, FINDINGS, what_nova_finds

ALL_HOSTS = tuple(CELL_OF_COMPUTE)
EGRESS, INGRESS = "NET_BW_EGR_KILOBIT_PER_SEC", "NET_BW_IGR_KILOBIT_PER_SEC"


@pytest.fixture
def settled(cloud, trueup, tenant, ledger):
    """Call it at the end with the touched hosts: nothing is left to repair, and Nova goes on."""

    def check(*hosts):
        nothing_is_left_to_repair(cloud, trueup)
        for host in hosts:
            server = tenant.boot(TINY, host)
            assert ledger.held_by(server.id) == {host: TINY.resources}
            tenant.delete(server)
            wait_until(lambda one=server: ledger.held_by(one.id) == {}, "nothing is held")

    return check


@pytest.fixture
def repaired(trueup, ledger):
    """Repair, undo, repair again: the name of the defect, its subject, before and after."""

    def check(defect, subject, before, after):
        answer = trueup.audit()
        assert (answer.exit_code, answer.findings()) == (FINDINGS, [(defect, subject)])
        assert ledger.held_by(subject) == before
        run = trueup.repair()
        assert ledger.held_by(subject) == after
        trueup.undo(run)
        assert ledger.held_by(subject) == before
        trueup.repair()
        assert ledger.held_by(subject) == after

    return check


def nothing_is_left_to_repair(cloud, trueup):
    """Trueup and Nova's own commands agree."""
    assert trueup.audit().rows == []
    assert what_nova_finds(cloud.site) == []


def test_evacuation_from_a_dead_host(placement, cloud, trueup, tenant, repaired, settled):
    server = tenant.boot(SMALL, "compute1")
    cloud.kill_compute("compute1")
    tenant.evacuate(server, "compute2")
    residue = {"compute1": SMALL.resources, "compute2": SMALL.resources}
    repaired("evacuation-residue", server.id, residue, {"compute2": SMALL.resources})
    nothing_is_left_to_repair(cloud, trueup)
    cloud.revive_compute("compute1")
    settled("compute1", "compute2")


def test_an_unconfirmed_resize_is_no_drift(placement, trueup, tenant):
    server = tenant.boot(TINY, "compute1")
    tenant.resize(server, SMALL)
    answer = trueup.audit()
    assert (answer.exit_code, answer.rows) == (CLEAN, [])
    _, planned = trueup.plan()
    assert (planned.exit_code, planned.rows) == (CLEAN, [])
    tenant.confirm(server)


def test_an_instance_deleted_by_sql(placement, cloud, tenant, repaired, settled):
    server = tenant.boot(SMALL, "compute3")
    cloud.sql(
        "nova_cell2",
        "UPDATE instances SET deleted = id, vm_state = 'deleted',"
        " deleted_at = NOW() - INTERVAL 1 DAY, terminated_at = NOW() - INTERVAL 1 DAY"
        " WHERE uuid = :uuid",
        uuid=server.id,
    )
    repaired("orphaned-allocation", server.id, {"compute3": SMALL.resources}, {})
    settled("compute3")


def test_an_allocation_is_lost(placement, tenant, ledger, repaired, settled):
    server = tenant.boot(SMALL, "compute2")
    ledger.forget(server.id)
    repaired("missing-allocation", server.id, {}, {"compute2": SMALL.resources})
    settled("compute2")


def test_an_allocation_on_the_wrong_host(placement, tenant, ledger, repaired, settled):
    server = tenant.boot(SMALL, "compute2")
    wrong = {"compute1": SMALL.resources}
    ledger.replace(server.id, wrong)
    repaired("wrong-provider", server.id, wrong, {"compute2": SMALL.resources})
    settled("compute1", "compute2")


def test_bandwidth_of_a_port_is_lost(placement, cloud, tenant, ledger, repaired, settled):
    bridge = bandwidth_on(cloud, "compute1")
    port = port_with_bandwidth(cloud)
    server = tenant.boot(TINY, "compute1", ports=[port.id])
    whole = {"compute1": TINY.resources, bridge: {EGRESS: 1000, INGRESS: 2000}}
    assert ledger.held_by(server.id) == whole
    ledger.forget(server.id)
    repaired("missing-allocation", server.id, {}, whole)
    settled("compute1")


def test_the_database_of_placement_is_lost(placement, cloud, trueup, tenant, ledger, settled):
    servers = [tenant.boot(SMALL, host) for host in ALL_HOSTS]
    before = {server.id: ledger.held_by(server.id) for server in servers}
    cloud.placement.stop()
    cloud.server.execute("DROP DATABASE placement")
    cloud.server.execute("CREATE DATABASE placement CHARACTER SET utf8mb3")
    cloud.placement.manage(placement, "db", "sync")
    cloud.placement.start(placement)
    cloud.restart_computes(*ALL_HOSTS)
    expected = sorted(("missing-allocation", server.id) for server in servers)
    assert trueup.audit().findings() == expected
    trueup.repair()
    assert {server.id: ledger.held_by(server.id) for server in servers} == before
    settled(*ALL_HOSTS)


def bandwidth_on(cloud, host):
    """The providers that Neutron's agent would report for a host; the name of the bridge's."""
    placement = cloud.connection.placement
    [root] = placement.resource_providers(name=host)
    name = f"{host}:agent:bridge"
    if found := list(placement.resource_providers(name=name)):
        return found[0].name
    agent = placement.create_resource_provider(name=f"{host}:agent", parent_provider_uuid=root.id)
    bridge = placement.create_resource_provider(name=name, parent_provider_uuid=agent.id)
    traits = [f"CUSTOM_PHYSNET_{PHYSICAL_NETWORK.upper()}", "CUSTOM_VNIC_TYPE_NORMAL"]
    for trait in traits:
        placement.put(f"/traits/{trait}", microversion="1.6").raise_for_status()
    path = f"/resource_providers/{bridge.id}"
    for part, document in (
        ("traits", {"traits": traits}),
        ("inventories", {"inventories": {name: {"total": 10**6} for name in (EGRESS, INGRESS)}}),
    ):
        generation = placement.get(path, microversion="1.39").json()["generation"]
        document |= {"resource_provider_generation": generation}
        placement.put(f"{path}/{part}", json=document, microversion="1.39").raise_for_status()
    # nova-compute has its providers in memory, and would fail for one that it does not know.
    cloud.restart_computes(host)
    return name


def port_with_bandwidth(cloud):
    """A port whose policy guarantees bandwidth in both directions."""
    network = cloud.connection.network
    policy = network.create_qos_policy(name="guaranteed")
    for kbps, direction in ((1000, "egress"), (2000, "ingress")):
        network.create_qos_minimum_bandwidth_rule(policy, min_kbps=kbps, direction=direction)
    where = network.find_network(BANDWIDTH_NETWORK, ignore_missing=False)
    return network.create_port(network_id=where.id, qos_policy_id=policy.id)
