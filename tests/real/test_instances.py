# SPDX-License-Identifier: Apache-2.0
"""The life of instances: Nova does it, Placement keeps account of it, on either Placement."""

from tests.real.cloud.catalog import SMALL, TINY
from tests.real.cloud.processes import wait_until
from tests.real.cloud.site import CELL_OF_COMPUTE


def in_place(server, flavor):
    """What the ledger should hold for an instance that is settled."""
    return {server.compute_host: flavor.resources}


def other_host(server):
    """The other host of the same cell."""
    own = server.compute_host
    [other] = [
        host
        for host, cell in CELL_OF_COMPUTE.items()
        if cell == CELL_OF_COMPUTE[own] and host != own
    ]
    return other


def held_by_migration(cloud, ledger, server):
    """What the migration of an instance holds."""
    [migration] = cloud.connection.compute.migrations(instance_uuid=server.id)
    return ledger.held_by(migration.uuid)


def test_hosts_report_their_inventories(placement, ledger):
    for host in CELL_OF_COMPUTE:
        totals = {name: row["total"] for name, row in ledger.inventories(host).items()}
        assert totals.keys() == {"VCPU", "MEMORY_MB", "DISK_GB"}
        assert all(totals.values())


def test_boot_where_nova_schedules(placement, tenant, ledger):
    server = tenant.boot(SMALL)
    assert ledger.held_by(server.id) == in_place(server, SMALL)


def test_boot_in_every_cell(placement, tenant, ledger):
    for host in CELL_OF_COMPUTE:
        server = tenant.boot(TINY, host)
        assert ledger.held_by(server.id) == {host: TINY.resources}


def test_boot_several_at_once(placement, cloud, tenant, ledger):
    tenant.ask_for(TINY, count=6)
    servers = [tenant.wait_for(one, "ACTIVE") for one in cloud.connection.compute.servers()]
    assert len(servers) == 6
    for server in servers:
        assert ledger.held_by(server.id) == in_place(server, TINY)


def test_resize_and_confirm(placement, cloud, tenant, ledger):
    before = tenant.boot(TINY, "compute1")
    server = tenant.resize(before, SMALL)
    assert ledger.held_by(server.id) == in_place(server, SMALL)
    assert held_by_migration(cloud, ledger, server) == in_place(before, TINY)
    server = tenant.confirm(server)
    assert server.compute_host == other_host(before)
    assert ledger.held_by(server.id) == in_place(server, SMALL)
    assert held_by_migration(cloud, ledger, server) == {}


def test_resize_and_revert(placement, cloud, tenant, ledger):
    before = tenant.boot(TINY, "compute1")
    tenant.resize(before, SMALL)
    cloud.connection.compute.revert_server_resize(before)
    server = tenant.wait_for(before, "ACTIVE")
    assert ledger.held_by(server.id) == in_place(before, TINY)
    assert held_by_migration(cloud, ledger, server) == {}


def test_cold_migrate(placement, cloud, tenant, ledger):
    before = tenant.boot(TINY, "compute2")
    cloud.connection.compute.migrate_server(before)
    server = tenant.confirm(tenant.wait_for(before, "VERIFY_RESIZE"))
    assert server.compute_host == other_host(before)
    assert ledger.held_by(server.id) == in_place(server, TINY)


def test_live_migrate(placement, cloud, tenant, ledger):
    before = tenant.boot(TINY, "compute1")
    cloud.connection.compute.live_migrate_server(before, block_migration="auto")
    wait_until(
        lambda: cloud.connection.compute.get_server(before.id).compute_host == "compute2",
        "the instance moves",
    )
    server = tenant.wait_for(before, "ACTIVE")
    assert ledger.held_by(server.id) == in_place(server, TINY)
    # The source gives it up after Nova has named the new host.
    wait_until(
        lambda: held_by_migration(cloud, ledger, server) == {}, "the migration gives up its claim"
    )


def test_evacuate_and_the_host_comes_back(placement, cloud, tenant, ledger):
    before = tenant.boot(SMALL, "compute1")
    cloud.kill_compute("compute1")
    server = tenant.evacuate(before, "compute2")
    assert ledger.held_by(server.id) == in_place(before, SMALL) | in_place(server, SMALL)
    cloud.revive_compute("compute1")
    assert ledger.held_by(server.id) == in_place(server, SMALL)


def test_shelve_and_unshelve(placement, cloud, tenant, ledger):
    server = tenant.boot(TINY)
    cloud.connection.compute.shelve_server(server)
    tenant.wait_for(server, "SHELVED_OFFLOADED")
    assert ledger.held_by(server.id) == {}
    cloud.connection.compute.unshelve_server(server)
    server = tenant.wait_for(server, "ACTIVE")
    assert ledger.held_by(server.id) == in_place(server, TINY)


def test_delete(placement, tenant, ledger):
    server = tenant.boot(TINY)
    tenant.delete(server)
    wait_until(lambda: ledger.held_by(server.id) == {}, "nothing is held")
