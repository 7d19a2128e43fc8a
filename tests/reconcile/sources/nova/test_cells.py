# SPDX-License-Identifier: Apache-2.0
"""One cell: what is read of it as a whole, by selection, and of those who are named."""

import json
from datetime import timedelta

import pytest

from trueup.reconcile.clock import now
from trueup.reconcile.sources.nova import cells
from trueup.reconcile.sources.nova.contract import InstanceFilter, InstanceIds, NovaCell
from trueup.reconcile.sources.nova.databases import NovaDatabases

NOWHERE = "99999999-2222-4333-8444-555555555555"


@pytest.fixture
def nova(small) -> NovaDatabases:
    return small.cloud.nova


@pytest.fixture
def cell1(nova) -> NovaCell:
    return nova.cells()[1]


def uuids(small, condition: str) -> list[str]:
    rows = small.sql("nova_cell1", f"SELECT uuid FROM instances WHERE {condition}")
    return sorted(row["uuid"] for row in rows)


@pytest.mark.parametrize("column", ["host", "project_id"])
def test_only_what_is_wanted_is_found(small, nova, cell1, column):
    [row, *_] = small.sql("nova_cell1", "SELECT * FROM instances WHERE deleted = 0 AND host <> ''")
    wanted = frozenset({row[column]})
    narrowing = {
        "host": InstanceFilter(hosts=wanted),
        "project_id": InstanceFilter(projects=wanted),
    }[column]
    found = nova.instance_ids(cell1, narrowing)
    assert sorted(found.living) == uuids(small, f"deleted = 0 AND {column} = '{row[column]}'")
    assert not found.deleted


def test_sides_are_joined_and_none_wanted_is_none_found(small, nova, cell1):
    [row, *_] = small.sql("nova_cell1", "SELECT * FROM instances WHERE deleted = 0 AND host <> ''")
    both = InstanceFilter(hosts=frozenset({row["host"]}), projects=frozenset({"nobody's"}))
    assert nova.instance_ids(cell1, both) == InstanceIds()
    assert nova.instance_ids(cell1, InstanceFilter(hosts=frozenset())) == InstanceIds()
    assert sorted(nova.instance_ids(cell1, InstanceFilter()).living) == uuids(small, "deleted = 0")


def test_those_that_name_no_host_are_found_by_their_node(small, nova, cell1):
    [row, *_] = small.sql("nova_cell1", "SELECT * FROM instances WHERE deleted = 0 AND host <> ''")
    uuid = row["uuid"]
    small.sql("nova_cell1", "UPDATE instances SET host = NULL, node = 'n' WHERE uuid = ?", uuid)
    hosts, nodes = frozenset({"nobody's"}), frozenset({"n"})
    assert nova.instance_ids(cell1, InstanceFilter(hosts=hosts)).living == frozenset()
    assert nova.instance_ids(cell1, InstanceFilter(hosts=hosts, nodes=nodes)).living == {uuid}


def archive(small, uuid: str) -> None:
    """Move a deleted row to where Nova keeps them."""
    columns = "uuid, deleted, display_name, project_id, user_id, vm_state"
    small.sql(
        "nova_cell1",
        f"INSERT INTO shadow_instances ({columns}) SELECT {columns} FROM instances WHERE uuid = ?",
        uuid,
    )
    small.sql("nova_cell1", "DELETE FROM instances WHERE uuid = ?", uuid)


def test_of_a_project_the_deleted_and_the_archived_are_found_too(small, nova, cell1):
    [row, *_] = small.sql("nova_cell1", "SELECT * FROM instances WHERE deleted <> 0")
    small.sql("nova_cell1", "UPDATE instances SET project_id = 'p' WHERE deleted <> 0")
    archive(small, row["uuid"])
    archived = [one["uuid"] for one in small.sql("nova_cell1", "SELECT uuid FROM shadow_instances "
                                                 "WHERE project_id = 'p'")]  # fmt: skip
    deleted = {*uuids(small, "deleted <> 0 AND project_id = 'p'"), *archived}
    found = nova.instance_ids(cell1, InstanceFilter(projects=frozenset({"p"}), deleted=True))
    assert row["uuid"] in deleted
    assert found.deleted == deleted
    assert (
        nova.instance_ids(cell1, InstanceFilter(projects=frozenset({"p"}))).deleted == frozenset()
    )


def test_instances_that_are_named_are_read_as_of_a_whole_cell(small, nova, cell1):
    whole = {one.uuid: one for one in nova.contents(cell1).instances}
    alive, dead = uuids(small, "deleted = 0")[:3], uuids(small, "deleted <> 0")[:1]
    reported = nova.instances(cell1, [*alive, *dead, "nobody's"])
    assert {one.uuid: one for one in reported.instances if not one.deleted} == {
        uuid: whole[uuid] for uuid in alive
    }
    assert [one.uuid for one in reported.instances if one.deleted] == dead
    assert {one.instance for one in reported.block_devices} <= {*alive, *dead}
    assert (reported.compute_nodes, reported.services) == ((), ())


def test_hosts_are_those_of_the_whole_cell(nova, cell1):
    hosts, whole = nova.hosts(cell1), nova.contents(cell1)
    assert (hosts.compute_nodes, hosts.services) == (whole.compute_nodes, whole.services)
    assert hosts.rows == len(hosts.compute_nodes) + len(hosts.services)


def test_moves_of_every_status_are_read(small, nova, cell1):
    rows = small.sql("nova_cell1", "SELECT uuid, status FROM migrations WHERE deleted = 0")
    reported = {(one.uuid, one.status) for one in nova.contents(cell1).migrations}
    assert reported == {(row["uuid"], row["status"]) for row in rows}


def test_moves_are_looked_up_by_their_instance_and_by_their_own_uuid(small, nova, cell1):
    [row, *_] = small.sql("nova_cell1", "SELECT uuid, instance_uuid FROM migrations")
    for wanted in (row["uuid"], row["instance_uuid"]):
        found = nova.lookup(cell1, [], moves_of=[wanted]).migrations
        assert row["uuid"] in {one.uuid for one in found}
    # A consumer may be a migration; an instance is asked about without its migrations.
    assert [one.uuid for one in nova.lookup(cell1, [row["uuid"]]).migrations] == [row["uuid"]]
    assert nova.lookup(cell1, [row["instance_uuid"]]).migrations == ()


def test_an_archived_row_is_found_and_says_so(small, nova, cell1):
    [uuid, *_] = uuids(small, "deleted <> 0")
    archive(small, uuid)
    [found] = nova.lookup(cell1, [uuid]).instances
    assert (found.uuid, found.archived, found.deleted) == (uuid, True, True)


def test_deleted_nodes_and_services_are_read_and_say_so(small, nova, cell1):
    [node, *_] = small.sql("nova_cell1", "SELECT uuid, host FROM compute_nodes")
    small.sql("nova_cell1", "UPDATE compute_nodes SET deleted = id WHERE uuid = ?", node["uuid"])
    small.sql("nova_cell1", "UPDATE services SET deleted = id WHERE host = ?", node["host"])
    contents = nova.contents(cell1)
    assert [one.uuid for one in contents.compute_nodes if one.deleted] == [node["uuid"]]
    assert [one.host for one in contents.services if one.deleted] == [node["host"]]


def test_only_the_root_device_and_volumes_are_read(small, nova, cell1):
    devices = nova.contents(cell1).block_devices
    assert devices
    assert all(one.boot_index == 0 or one.destination == "volume" for one in devices)


def test_properties_of_the_image_that_bear_on_what_is_held_are_read(small, nova, cell1):
    [uuid, *_] = uuids(small, "deleted = 0")
    for name in ("image_hw_cpu_policy", "image_trait:HW_A", "image_hw_disk_bus", "image_hwcpu"):
        small.sql(
            "nova_cell1",
            "INSERT INTO instance_system_metadata (instance_uuid, key, value, deleted) "
            "VALUES (?, ?, 'dedicated', 0)",
            uuid,
            name,
        )
    read = {one.uuid: one for one in nova.contents(cell1).instances}[uuid]
    assert read.image_properties == {"hw_cpu_policy": "dedicated", "trait:HW_A": "dedicated"}


def test_image_properties_of_an_instance_that_lost_its_rows_are_unknown(small, nova, cell1):
    def unread() -> set[str]:
        return {one.uuid for one in nova.contents(cell1).instances if one.image_properties is None}

    every = uuids(small, "deleted = 0")
    assert unread() == set()
    small.sql(
        "nova_cell1", "DELETE FROM instance_system_metadata WHERE instance_uuid = ?", every[0]
    )
    assert unread() == {every[0]}
    assert nova.instances(cell1, [every[0]]).instances[0].image_properties is None
    small.sql("nova_cell1", "DELETE FROM instance_system_metadata")
    assert unread() == set(every)


def test_a_port_without_an_allocation_is_not_carried_here(small, nova, cell1):
    plain, special = uuids(small, "deleted = 0")[:2]
    harmless = [{"profile": {}, "id": "a-port"}]
    for uuid, ports in ((plain, harmless), (special, [{"profile": {"allocation": {"g": "p"}}}])):
        small.sql(
            "nova_cell1",
            "UPDATE instance_info_caches SET network_info = ? WHERE instance_uuid = ?",
            json.dumps(ports),
            uuid,
        )
    read = {one.uuid: one.ports_hold for one in nova.contents(cell1).instances}
    assert (read[plain], read[special]) == (False, True)


def test_who_holds_a_port_is_found_among_all_living_instances(small, nova, cell1):
    """A cache that only names the port, or a deleted instance's, does not count."""
    plain, holder, gone = uuids(small, "deleted = 0")[:3]
    port = "aaaaaaaa-2222-4333-8444-555555555555"
    holding = {"id": port, "profile": {"allocation": {"g": "p"}}}
    for uuid, cached in ((plain, {"id": port}), (holder, holding), (gone, holding)):
        small.sql(
            "nova_cell1",
            "UPDATE instance_info_caches SET network_info = ? WHERE instance_uuid = ?",
            json.dumps([cached]),
            uuid,
        )
    small.sql("nova_cell1", "UPDATE instances SET deleted = id WHERE uuid = ?", gone)
    assert nova.port_holders(cell1, [port]) == {holder}
    assert nova.port_holders(cell1, [port[::-1]]) == set()


def test_one_hosts_services_and_the_last_report_are_those_of_the_whole_cell(small, nova, cell1):
    whole = nova.hosts(cell1)
    for host in {row.host for row in whole.services} | {"nowhere"}:
        found = nova.service_reports(cell1, host)
        assert found.services == tuple(row for row in whole.services if row.host == host)
        assert found.heartbeat == whole.heartbeat
        assert found.compute_nodes == ()


def test_compute_nodes_are_found_by_uuid_and_by_name(small, nova, cell1):
    one, another, *_ = nova.hosts(cell1).compute_nodes
    assert nova.compute_nodes(cell1, one.uuid) == (one,)
    assert nova.compute_nodes(cell1, one.uuid, another.node) == (one, another)
    assert nova.compute_nodes(cell1, NOWHERE) == nova.compute_nodes(cell1, NOWHERE, "nobody") == ()
    small.sql("nova_cell1", "UPDATE compute_nodes SET deleted = id WHERE id = ?", one.number)
    [found] = nova.compute_nodes(cell1, one.uuid)
    assert (found.uuid, found.deleted) == (one.uuid, True)


@pytest.mark.parametrize("seconds", [-300, 300])
def test_a_clock_of_ours_that_is_wrong_is_known_by_that_of_the_database(
    small, nova, cell1, monkeypatch, seconds
):
    wrong = now() + timedelta(seconds=seconds)
    monkeypatch.setattr(cells, "now", lambda: wrong)
    for found in (nova.hosts(cell1), nova.contents(cell1), nova.service_reports(cell1, "")):
        assert abs(found.ahead + timedelta(seconds=seconds)) < timedelta(seconds=100)


@pytest.mark.parametrize("where", ["binary = 'nova-compute'", "1 = 1"])
def test_services_that_have_never_reported_were_made_at_some_time(small, nova, cell1, where):
    small.sql("nova_cell1", f"UPDATE services SET last_seen_up = NULL WHERE {where}")
    assert nova.service_reports(cell1, "").heartbeat == nova.hosts(cell1).heartbeat


def test_a_deleted_service_reports_no_more(small, nova, cell1):
    small.sql("nova_cell1", "UPDATE services SET deleted = id")
    assert nova.service_reports(cell1, "").heartbeat is None
