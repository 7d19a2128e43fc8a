# SPDX-License-Identifier: Apache-2.0
from collections import Counter

import pytest

from tests.lab.reading import HOST_CELLS, expected, held, instances, providers, rows, whole_file
from trueup.lab import Drift, Kind, NotEnoughInstances

COUNT = 4


@pytest.fixture(scope="module")
def broken(make_cloud):
    """A cloud with drift, what was planted, and the allocations before."""
    with make_cloud() as cloud:
        before = held(cloud)
        planted = cloud.plant(Drift(*[COUNT] * 5))
        yield cloud, planted, before


def of_kind(planted, kind):
    return [drift for drift in planted if drift.kind is kind]


def test_as_much_drift_as_requested_each_in_a_different_instance(broken):
    _, planted, _ = broken
    assert Counter(drift.kind for drift in planted) == dict.fromkeys(Kind, COUNT)
    assert len({drift.consumer_uuid for drift in planted}) == len(planted)


def migrations_in_error(cloud):
    query = "SELECT uuid FROM migrations WHERE status = 'error'"
    return {row["uuid"] for cell in HOST_CELLS for row in rows(cloud, f"nova_{cell}", query)}


def test_nothing_else_changes_in_placement(broken):
    cloud, planted, before = broken
    touched = {drift.consumer_uuid for drift in planted} | migrations_in_error(cloud)
    untouched = {uuid: one for uuid, one in held(cloud).items() if uuid not in touched}
    assert untouched == {uuid: one for uuid, one in before.items() if uuid not in touched}


def test_orphans_are_deleted_by_nova_or_by_hand_and_keep_their_allocation(broken):
    cloud, planted, before = broken
    alive_or_dead, allocations = instances(cloud), held(cloud)
    ways = set()
    for drift in of_kind(planted, Kind.ORPHANED_ALLOCATION):
        row = alive_or_dead[drift.consumer_uuid]
        assert row["vm_state"] == "deleted"
        assert row["deleted_at"] is not None
        assert row["deleted"] in (1, row["id"])
        ways.add("as nova" if row["deleted"] == row["id"] else "by hand")
        assert allocations[drift.consumer_uuid] == before[drift.consumer_uuid]
        assert set(allocations[drift.consumer_uuid]) == {drift.provider_uuid}
    assert ways == {"as nova", "by hand"}


def test_an_evacuated_instance_holds_both_hosts(broken):
    cloud, planted, _ = broken
    rows_now, allocations, by_place = instances(cloud), held(cloud), providers(cloud)
    for drift in of_kind(planted, Kind.EVACUATION_RESIDUE):
        row = rows_now[drift.consumer_uuid]
        query = f"SELECT * FROM migrations WHERE instance_uuid = '{drift.consumer_uuid}'"
        moves = rows(cloud, f"nova_{drift.cell}", f"{query} AND status = 'done'")
        [move] = moves
        wanted = expected(cloud, row)
        assert move["migration_type"] == "evacuation"
        assert (row["host"], row["node"]) == (move["dest_compute"], move["dest_node"])
        assert row["host"] == drift.host
        assert drift.provider_uuid == by_place[move["source_compute"], move["source_node"]]
        assert allocations[drift.consumer_uuid] == {
            drift.provider_uuid: wanted,
            by_place[row["host"], row["node"]]: wanted,
        }


def test_one_host_died_and_is_forced_down(broken):
    cloud, planted, _ = broken
    dead = [
        row["host"]
        for cell in HOST_CELLS
        for row in rows(cloud, f"nova_{cell}", "SELECT * FROM services WHERE forced_down")
    ]
    assert len(dead) == 1
    assert dead[0] not in {drift.host for drift in planted}


def test_instances_with_a_missing_allocation_hold_nothing(broken):
    cloud, planted, before = broken
    allocations, rows_now = held(cloud), instances(cloud)
    for drift in of_kind(planted, Kind.MISSING_ALLOCATION):
        assert drift.consumer_uuid not in allocations
        assert set(before[drift.consumer_uuid]) == {drift.provider_uuid}
        assert rows_now[drift.consumer_uuid]["deleted"] == 0


def test_misplaced_instances_hold_their_resources_on_another_host(broken):
    cloud, planted, before = broken
    allocations, rows_now, by_place = held(cloud), instances(cloud), providers(cloud)
    for drift in of_kind(planted, Kind.WRONG_PROVIDER):
        row = rows_now[drift.consumer_uuid]
        own = by_place[row["host"], row["node"]]
        assert row["host"] == drift.host
        assert own != drift.provider_uuid
        assert allocations[drift.consumer_uuid] == {
            drift.provider_uuid: before[drift.consumer_uuid][own]
        }


def test_a_failed_migration_holds_the_source_and_the_instance_its_target(broken):
    cloud, planted, before = broken
    allocations, by_place = held(cloud), providers(cloud)
    for drift in of_kind(planted, Kind.MIGRATION_RESIDUE):
        query = f"SELECT * FROM migrations WHERE instance_uuid = '{drift.consumer_uuid}'"
        [move] = rows(cloud, f"nova_{drift.cell}", query)
        assert (move["status"], move["migration_type"]) == ("error", "live-migration")
        target = by_place[move["dest_compute"], move["dest_node"]]
        assert allocations[move["uuid"]] == before[drift.consumer_uuid]
        assert set(allocations[drift.consumer_uuid]) == {target} == {drift.provider_uuid}


def test_the_same_seed_plants_the_same_drift(broken, make_cloud):
    cloud, planted, _ = broken
    with make_cloud() as twin:
        assert twin.plant(Drift(*[COUNT] * 5)) == planted
        for cell in HOST_CELLS:
            name = f"nova_{cell}.sqlite"
            ours = [line.replace(str(cloud.folder), "") for line in whole_file(cloud.folder / name)]
            theirs = [line.replace(str(twin.folder), "") for line in whole_file(twin.folder / name)]
            assert ours == theirs


def test_planting_again_uses_other_instances(make_cloud):
    with make_cloud() as cloud:
        first = cloud.plant(Drift(1, 1, 1, 1, 1))
        second = cloud.plant(Drift(1, 1, 1, 1, 1))
    assert {drift.consumer_uuid for drift in first}.isdisjoint(
        drift.consumer_uuid for drift in second
    )


def test_too_much_drift_is_refused_before_anything_is_written(make_cloud):
    with make_cloud() as cloud:
        before = held(cloud)
        with pytest.raises(NotEnoughInstances, match="missing-allocation"):
            cloud.plant(Drift(orphaned=1, evacuated=1, missing=1000, misplaced=1))
        assert held(cloud) == before
        assert all(
            rows(cloud, f"nova_{cell}", "SELECT * FROM services WHERE forced_down") == []
            for cell in HOST_CELLS
        )
