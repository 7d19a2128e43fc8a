# SPDX-License-Identifier: Apache-2.0
"""The databases of every release of Nova since Stein: what one lacks is named.

tests/clouds/schemas/README.md says how the tables and objects there were recorded.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.reconcile.sources.nova.test_instance_rows import flavor_text
from trueup.reconcile.sources.nova.databases import NovaDatabases

SCHEMAS = Path(__file__).parents[3] / "clouds" / "schemas"
OLDEST, NEWEST = "19.3.2", "34.0.0"
# Release → the release whose tables of a cell and of the API database are the same in all that
# is read.
TABLES = {
    "19.3.2": ("19.3.2", "19.3.2"),
    **dict.fromkeys(("20.6.1", "21.2.4", "22.4.0", "23.2.2", "24.2.1"), ("20.6.1", "19.3.2")),
    "25.3.0": ("20.6.1", "34.0.0"),
    **dict.fromkeys(("26.3.0", "27.5.1"), ("26.3.0", "34.0.0")),
    **dict.fromkeys(
        ("28.3.1", "29.4.0", "30.3.0", "31.3.1", "32.2.1", "33.0.2", "34.0.0"),
        ("34.0.0", "34.0.0"),
    ),
}
# Releases in which the version of an object changed that is kept as JSON.
OBJECTS = ("19.3.2", "21.2.4", "22.4.0", "23.2.2", "34.0.0")
SERVER, MOVE, NODE = (f"5eb033fd-1111-4222-8333-44445555666{n}" for n in range(3))
# What Stein did not have yet, of what we read.
UNSUPPORTED = {
    OLDEST: {
        "instances.hidden",
        "shadow_instances.hidden",
        "instance_extra.resources",
        "migrations.cross_cell_move",
        "instance_extra.vpmems",
    },
}
ROWS = {
    "cell": {
        "instances": {
            "uuid": SERVER, "deleted": 0, "host": "h1", "node": "h1", "vm_state": "active",
            "image_ref": "an-image",
        },
        "instance_extra": {
            "instance_uuid": SERVER, "deleted": 0, "pci_requests": "[]", "flavor": flavor_text(),
        },
        "instance_info_caches": {"instance_uuid": SERVER, "deleted": 0},
        "instance_system_metadata": {
            "instance_uuid": SERVER, "deleted": 0, "key": "image_hw_cpu_policy", "value": "shared",
        },
        "block_device_mapping": {
            "instance_uuid": SERVER, "deleted": 0, "boot_index": 0, "destination_type": "volume",
        },
        "migrations": {
            "uuid": MOVE, "instance_uuid": SERVER, "status": "completed", "deleted": 0,
            "migration_type": "live-migration", "source_compute": "h1", "source_node": "h1",
        },
        "compute_nodes": {"uuid": NODE, "host": "h1", "hypervisor_hostname": "h1", "deleted": 0},
        "services": {"host": "h1", "binary": "nova-compute", "deleted": 0},
        "pci_devices": {
            "address": "0000:81:00.1", "deleted": 0,
            "extra_info": json.dumps({"parent_ifname": "ens1"}),
        },
    },
    "api": {
        "host_mappings": {"host": "h1", "cell_id": 1},
        "instance_mappings": {"instance_uuid": SERVER, "cell_id": 1, "project_id": "p"},
        "request_specs": {"instance_uuid": SERVER, "spec": "{}"},
        "aggregates": {"uuid": NODE, "name": "fast"},
    },
}  # fmt: skip


def filled(release: str, kind: str, path: Path, rows: dict[str, dict[str, object]]) -> str:
    """The URL of a database of this release, with a row in each of these tables."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((SCHEMAS / f"nova-{release}-{kind}.sql").read_text())
        for table, values in rows.items():
            columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
            needed = {name: 0 for _, name, _, required, _, key in columns if required and not key}
            row = needed | values
            names = ", ".join(f'"{name}"' for name in row)
            marks = ", ".join("?" * len(row))
            connection.execute(
                f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values())
            )
        connection.commit()
    return f"sqlite:///{path}"


@pytest.fixture(params=sorted(set(TABLES.values())), ids="-".join)
def release(request) -> tuple[str, str]:
    """The release whose tables a cell has, and that whose tables the API database has."""
    return request.param


@pytest.fixture
def nova(release, tmp_path) -> NovaDatabases:
    return databases(tmp_path, *release, ROWS["cell"], ROWS["api"])


def databases(folder: Path, of_cell: str, of_api: str, cell_rows, api_rows) -> NovaDatabases:
    cell = filled(of_cell, "cell", folder / "cell.sqlite", cell_rows)
    mapping = {"id": 1, "uuid": NODE, "name": "cell1", "database_connection": cell}
    rows = {"cell_mappings": mapping, **api_rows}
    return NovaDatabases(filled(of_api, "api", folder / "api.sqlite", rows), None)


def test_a_cell_of_each_release_is_read_and_what_it_lacks_is_named(nova, release):
    [cell] = nova.cells()
    contents = nova.contents(cell)
    [instance], [move] = contents.instances, contents.migrations
    assert (instance.uuid, instance.flavor.vcpus, instance.volume_backed) == (SERVER, 2, True)
    assert (instance.hidden, instance.image_properties) == (False, {"hw_cpu_policy": "shared"})
    assert (move.uuid, move.kind, move.between_cells) == (MOVE, "live-migration", False)
    assert [node.uuid for node in contents.compute_nodes] == [NODE]
    assert [service.host for service in contents.services] == ["h1"]
    assert [device.parent_interface for device in contents.pci_devices] == ["ens1"]
    reported = {one.what for one in contents.noted.unsupported}
    assert reported <= UNSUPPORTED.get(release[0], set())
    assert contents.noted.unread_rows == 0
    found = nova.lookup(cell, [SERVER], [SERVER])
    assert [row.uuid for row in found.instances] == [SERVER]
    assert [row.uuid for row in found.migrations] == [MOVE]


def test_what_the_oldest_lacks_is_what_came_later(tmp_path):
    cell = filled(OLDEST, "cell", tmp_path / "cell.sqlite", {})
    mapping = {"id": 1, "uuid": NODE, "name": "cell1", "database_connection": cell}
    api = filled(OLDEST, "api", tmp_path / "api.sqlite", {"cell_mappings": mapping})
    nova = NovaDatabases(api, None)
    reported = {one.what for one in nova.contents(nova.cells()[0]).noted.unsupported}
    assert {"instances.hidden", "migrations.cross_cell_move"} <= reported


def test_an_api_database_of_each_release_is_read(nova):
    registry = nova.registry(nova.cells())
    assert [(row.host, row.cell) for row in registry.host_mappings] == [("h1", NODE)]
    assert [row.instance for row in registry.instance_mappings] == [SERVER]
    assert registry.request_specs == {SERVER}
    assert [row.name for row in registry.host_aggregates] == ["fast"]
    assert (registry.noted.unread_rows, registry.noted.unsupported) == (0, ())


@pytest.mark.parametrize("release", OBJECTS)
def test_objects_as_the_classes_of_each_release_write_them(release, tmp_path):
    """A flavor with dedicated CPUs, its NUMA topology, a PCI request, an assigned resource."""
    reported = json.loads((SCHEMAS / f"nova-{release}-objects.json").read_text())
    text = {name: json.dumps(value) for name, value in reported.items()}
    kept = ("flavor", "numa_topology", "pci_requests")
    extra = ROWS["cell"]["instance_extra"] | {name: text[name] for name in kept}
    if "resources" in text:
        extra["resources"] = text["resources"]
    spec = {"instance_uuid": SERVER, "spec": text["request_spec"]}
    nova = databases(
        tmp_path, *TABLES[release], ROWS["cell"] | {"instance_extra": extra},
        ROWS["api"] | {"request_specs": spec},
    )  # fmt: skip
    [cell] = nova.cells()
    contents = nova.contents(cell)
    [instance] = contents.instances
    assert (instance.flavor.name, instance.flavor.vcpus, instance.flavor.swap_mb) == (
        "pinned", 4, 512,
    )  # fmt: skip
    [numa] = instance.numa_topology.cells
    assert (numa.processors, numa.pinned) == ((), (0, 1, 2, 3))
    [request] = instance.pci_requests
    assert (request.alias, request.count, request.request_id) == ("card", 1, SERVER)
    assigned = [] if release == OLDEST else ["CUSTOM_PMEM_NAMESPACE_4GB"]
    assert [one.resource_class for one in instance.assigned_resources] == assigned
    registry = nova.registry([cell], [SERVER])
    [found] = registry.specs
    assert (found.flavor, found.volume_backed) == (instance.flavor, True)
    assert (contents.noted.unread_rows, registry.noted.unread_rows) == (0, 0)
