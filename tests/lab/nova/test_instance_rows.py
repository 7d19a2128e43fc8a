# SPDX-License-Identifier: Apache-2.0
import json

from tests.lab.reading import expected, held, instances, providers, rows
from trueup.lab.blueprint import LifecycleState

# Instances on one host without an operation in progress hold exactly their flavor.
SETTLED_STATES = (LifecycleState.ACTIVE, LifecycleState.STOPPED, LifecycleState.SOFT_DELETED)


def in_state(cloud, *states):
    """Rows of `instances` whose blueprint has one of these states."""
    wanted = {instance.uuid for instance in cloud.blueprint.instances if instance.state in states}
    return [row for uuid, row in instances(cloud).items() if uuid in wanted]


def test_each_settled_instance_holds_exactly_its_flavor_on_its_hosts_provider(healthy):
    allocations, by_place = held(healthy), providers(healthy)
    settled = in_state(healthy, *SETTLED_STATES)
    assert len(settled) > 60
    for row in settled:
        provider = by_place[row["host"], row["node"]]
        assert allocations[row["uuid"]] == {provider: expected(healthy, row)}


def test_an_unconfirmed_resize_holds_the_old_flavor_by_its_migration(healthy):
    allocations, by_place = held(healthy), providers(healthy)
    resized = in_state(healthy, LifecycleState.RESIZED)
    assert resized
    for row in resized:
        query = f"SELECT * FROM migrations WHERE instance_uuid = '{row['uuid']}'"
        [move] = rows(healthy, f"nova_{row['cell']}", query)
        source = by_place[move["source_compute"], move["source_node"]]
        target = by_place[row["host"], row["node"]]
        assert (row["vm_state"], move["status"]) == ("resized", "finished")
        assert (move["dest_compute"], move["dest_node"]) == (row["host"], row["node"])
        assert allocations[move["uuid"]] == {source: expected(healthy, row, "old")}
        assert allocations[row["uuid"]] == {target: expected(healthy, row)}


def test_a_live_migration_holds_both_ends_and_is_still_at_its_source(healthy):
    allocations, by_place = held(healthy), providers(healthy)
    [row] = in_state(healthy, LifecycleState.MIGRATING)
    query = f"SELECT * FROM migrations WHERE instance_uuid = '{row['uuid']}' AND status = 'running'"
    [move] = rows(healthy, f"nova_{row['cell']}", query)
    assert row["task_state"] == "migrating"
    assert (row["host"], row["node"]) == (move["source_compute"], move["source_node"])
    assert set(allocations[move["uuid"]]) == {by_place[row["host"], row["node"]]}
    assert set(allocations[row["uuid"]]) == {by_place[move["dest_compute"], move["dest_node"]]}


def test_shelved_instances_are_on_no_host_and_hold_nothing(healthy):
    allocations = held(healthy)
    for row in in_state(healthy, LifecycleState.SHELVED):
        assert row["vm_state"] == "shelved_offloaded"
        assert (row["host"], row["node"], row["compute_id"]) == (None, None, None)
        assert row["uuid"] not in allocations


def test_soft_deleted_instances_have_a_deletion_time_but_are_not_deleted(healthy):
    for row in in_state(healthy, LifecycleState.SOFT_DELETED):
        assert row["vm_state"] == "soft-delete"
        assert row["deleted"] == 0
        assert row["deleted_at"] is not None


def test_deleted_instances_have_their_id_as_deleted_and_hold_nothing(healthy):
    allocations = held(healthy)
    for row in in_state(healthy, LifecycleState.DELETED):
        assert row["deleted"] == row["id"]
        assert row["uuid"] not in allocations


def test_volume_backed_instances_have_a_volume_as_root_and_no_image(healthy):
    backed = {instance.uuid for instance in healthy.blueprint.instances if instance.volume_backed}
    for uuid, row in instances(healthy).items():
        query = f"SELECT * FROM block_device_mapping WHERE instance_uuid = '{uuid}'"
        [root] = [
            device
            for device in rows(healthy, f"nova_{row['cell']}", query)
            if device["boot_index"] == 0
        ]
        assert (root["destination_type"] == "volume") == (uuid in backed)
        assert (row["image_ref"] == "") == (uuid in backed)


def test_flavors_are_kept_as_versioned_objects(healthy):
    for row in rows(healthy, "nova_cell1", "SELECT * FROM instance_extra"):
        flavor = json.loads(row["flavor"])
        assert flavor.keys() == {"cur", "old", "new"}
        assert flavor["cur"]["nova_object.name"] == "Flavor"
        assert (flavor["old"] is None) == (flavor["new"] is None)
