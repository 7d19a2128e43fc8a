# SPDX-License-Identifier: Apache-2.0
"""The oldest and the newest Nova whose databases we can make: what one lacks is named.

The tables in tests/clouds/schemas are those that `nova-manage api_db sync` and `db sync` of the
real packages make on SQLite. To record them again: install that nova into an environment of its
own (19 on Python 3.8), sync into two SQLite files, and keep `sql` of the tables that tables
names from `sqlite_master`. Older ones than 19 do not run on the Pythons that could be tried.
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
    NEWEST: set(),
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


@pytest.fixture(params=[OLDEST, NEWEST])
def release(request) -> str:
    return request.param


@pytest.fixture
def nova(release, tmp_path) -> NovaDatabases:
    cell = filled(release, "cell", tmp_path / "cell.sqlite", ROWS["cell"])
    mapping = {"id": 1, "uuid": NODE, "name": "cell1", "database_connection": cell}
    rows = {"cell_mappings": mapping, **ROWS["api"]}
    return NovaDatabases(filled(release, "api", tmp_path / "api.sqlite", rows), None)


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
    told = {one.what for one in contents.noted.unsupported}
    assert told <= UNSUPPORTED[release]
    assert contents.noted.unread_rows == 0
    found = nova.lookup(cell, [SERVER], [SERVER])
    assert [row.uuid for row in found.instances] == [SERVER]
    assert [row.uuid for row in found.migrations] == [MOVE]


def test_what_the_oldest_lacks_is_what_came_later(tmp_path):
    cell = filled(OLDEST, "cell", tmp_path / "cell.sqlite", {})
    mapping = {"id": 1, "uuid": NODE, "name": "cell1", "database_connection": cell}
    api = filled(OLDEST, "api", tmp_path / "api.sqlite", {"cell_mappings": mapping})
    nova = NovaDatabases(api, None)
    told = {one.what for one in nova.contents(nova.cells()[0]).noted.unsupported}
    assert {"instances.hidden", "migrations.cross_cell_move"} <= told


def test_an_api_database_of_each_release_is_read(nova):
    registry = nova.registry(nova.cells())
    assert [(row.host, row.cell) for row in registry.host_mappings] == [("h1", NODE)]
    assert [row.instance for row in registry.instance_mappings] == [SERVER]
    assert registry.request_specs == {SERVER}
    assert [row.name for row in registry.host_aggregates] == ["fast"]
    assert (registry.noted.unread_rows, registry.noted.unsupported) == (0, ())
