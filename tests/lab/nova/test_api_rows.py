# SPDX-License-Identifier: Apache-2.0
import json

from tests.lab.reading import rows
from trueup.lab.blueprint import LifecycleState


def test_cells_are_mapped_to_their_files(healthy):
    cells = rows(healthy, "nova_api", "SELECT * FROM cell_mappings ORDER BY id")
    assert [(cell["id"], cell["name"]) for cell in cells] == [
        (1, "cell0"),
        (2, "cell1"),
        (3, "cell2"),
    ]
    assert cells[0]["uuid"] == "00000000-0000-0000-0000-000000000000"
    for cell in cells:
        path = healthy.folder / f"nova_{cell['name']}.sqlite"
        assert cell["database_connection"] == f"sqlite:///{path}"
        assert path.is_file()


def test_every_host_is_mapped_to_its_cell(healthy):
    mapped = rows(healthy, "nova_api", "SELECT * FROM host_mappings")
    assert {(row["host"], row["cell_id"]) for row in mapped} == {
        (host.name, host.cell.number) for host in healthy.blueprint.hosts
    }


def test_every_instance_is_mapped_unless_it_is_archived(healthy):
    mapped = {
        row["instance_uuid"]: row
        for row in rows(healthy, "nova_api", "SELECT * FROM instance_mappings")
    }
    for instance in healthy.blueprint.instances:
        if instance.state is LifecycleState.ARCHIVED:
            assert instance.uuid not in mapped
        else:
            row = mapped[instance.uuid]
            assert row["cell_id"] == (instance.cell.number if instance.cell else None)
            assert row["queued_for_delete"] == (instance.state is LifecycleState.DELETED)


def test_a_booting_instance_has_a_build_request_and_no_cell(healthy):
    [request] = rows(healthy, "nova_api", "SELECT * FROM build_requests")
    [boot] = healthy.blueprint.boots
    assert request["instance_uuid"] == boot.consumer_uuid


def test_request_specs_say_whether_the_root_is_a_volume(healthy):
    specs = {
        row["instance_uuid"]: json.loads(row["spec"])["nova_object.data"]
        for row in rows(healthy, "nova_api", "SELECT * FROM request_specs")
    }
    backed = {instance.uuid for instance in healthy.blueprint.instances if instance.volume_backed}
    assert backed
    assert {uuid for uuid, spec in specs.items() if spec["is_bfv"]} == backed & specs.keys()


def test_aggregates_name_hosts(healthy):
    members = rows(
        healthy,
        "nova_api",
        "SELECT uuid, host FROM aggregates JOIN aggregate_hosts ON aggregates.id = aggregate_id",
    )
    assert {(row["uuid"], row["host"]) for row in members} == {
        (aggregate.uuid, host.name)
        for aggregate in healthy.blueprint.aggregates
        for host in aggregate.hosts
    }
