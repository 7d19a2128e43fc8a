# SPDX-License-Identifier: Apache-2.0
from datetime import datetime

from tests.lab.reading import HOST_CELLS, rows


def test_each_host_has_a_service_that_is_up_and_a_compute_node(healthy):
    for cell in HOST_CELLS:
        hosts = {host.name: host for host in healthy.blueprint.hosts if host.cell.name == cell}
        services = rows(
            healthy, f"nova_{cell}", "SELECT * FROM services WHERE binary = 'nova-compute'"
        )
        nodes = rows(healthy, f"nova_{cell}", "SELECT * FROM compute_nodes")
        assert {row["host"] for row in services} == hosts.keys()
        assert {(row["host"], row["hypervisor_hostname"], row["uuid"]) for row in nodes} == {
            (host.name, host.node, host.uuid) for host in hosts.values()
        }
        by_id = {row["id"]: row["host"] for row in services}
        assert all(by_id[row["service_id"]] == row["host"] for row in nodes)
        for row in services:
            assert (row["deleted"], row["forced_down"], row["disabled"]) == (0, 0, 0)
            assert datetime.fromisoformat(row["last_seen_up"]) == healthy.blueprint.now


def test_cell_zero_has_no_hosts_and_the_instances_that_found_none(healthy):
    assert rows(healthy, "nova_cell0", "SELECT * FROM compute_nodes") == []
    failed = rows(healthy, "nova_cell0", "SELECT * FROM instances")
    assert failed
    assert {(row["vm_state"], row["host"], row["deleted"]) for row in failed} == {
        ("error", None, 0)
    }


def test_open_moves_are_finished_resizes_and_a_running_live_migration(healthy):
    open_moves = [
        (row["migration_type"], row["status"])
        for cell in HOST_CELLS
        for row in rows(
            healthy,
            f"nova_{cell}",
            "SELECT * FROM migrations WHERE status IN ('finished','running')",
        )
    ]
    assert set(open_moves) == {("resize", "finished"), ("live-migration", "running")}


def test_archived_instances_are_in_the_shadow_table_only(healthy):
    for cell in HOST_CELLS:
        database = f"nova_{cell}"
        shadow = {row["uuid"] for row in rows(healthy, database, "SELECT * FROM shadow_instances")}
        present = {row["uuid"] for row in rows(healthy, database, "SELECT * FROM instances")}
        assert shadow.isdisjoint(present)
