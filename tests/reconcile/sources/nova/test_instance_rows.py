# SPDX-License-Identifier: Apache-2.0
"""Rows of Nova as it writes them, and as nobody should have."""

import json
from datetime import datetime
from typing import Any

import pytest

from tests.reconcile.sources.rows import row, row_of
from trueup.reconcile.expected import flavor_groups
from trueup.reconcile.facts import Instance, NumaTopology
from trueup.reconcile.sources.notes import Notes
from trueup.reconcile.sources.nova import instance_rows, tables
from trueup.reconcile.sources.nova.instance_rows import Beside
from trueup.reconcile.sources.reading import Reader

MOMENT = datetime(2026, 11, 21, 12, 0, 0)
PLAIN_FLAVOR = {
    "name": "m1.small",
    "vcpus": 2,
    "memory_mb": 256,
    "root_gb": 4,
    "ephemeral_gb": 1,
    "swap": 512,
    "extra_specs": {},
}
OWNER = ("uuid", "display_name", "project_id", "user_id")
STATE = (
    "host", "node", "vm_state", "task_state", "power_state", "hidden", "image_ref",
    "created_at", "updated_at", "deleted_at",
)  # fmt: skip
ASKED = (
    "extra_id", "flavor", "pci_requests", "numa_topology", "resources", "network_info"
)  # fmt: skip
NOTHING = dict.fromkeys(("id", *OWNER, *STATE, *ASKED))
UUID = "5eb033fd-1111-4222-8333-444455556666"


def flavor_text(**fields: object) -> str:
    return json.dumps({"cur": {"nova_object.data": PLAIN_FLAVOR | fields}, "old": None})


def read(
    image: dict[str, str] | None = None, roots: tuple[str, ...] = (), **columns: object
) -> tuple[Instance, Notes]:
    """One row as a fact, and what was noted about it."""
    reported = {"id": 7, "extra_id": 70, "uuid": UUID, "deleted": 0, "image_ref": "an-image"}
    reported |= {"flavor": flavor_text()} | columns
    notes = Notes()
    beside = Beside(roots={UUID: roots}, images={UUID: image or {}})
    rows = instance_rows.InstanceRows("a-cell", notes, beside)
    [one] = rows.every([row(**NOTHING | reported)])
    return one, notes


def instance(image: dict[str, str] | None = None, **columns: Any) -> Instance:
    return read(image, **columns)[0]


def reported(notes: Notes) -> list[tuple[str, str, str]]:
    return [(one.table, one.row, one.column) for one in notes.unread]


def plain(row: Instance) -> dict[str, int]:
    """What its flavor alone asks for."""
    [group] = flavor_groups(row.flavor, {}, volume_backed=row.volume_backed)
    return dict(group.amounts)


def test_an_instance_with_every_column():
    row = instance(
        display_name="web", project_id="p", user_id="u", host="h1", node="n1", vm_state="active",
        task_state="rebooting", hidden=0, updated_at=MOMENT, deleted_at=None,
    )  # fmt: skip
    assert (row.uuid, row.name, row.cell) == (UUID, "web", "a-cell")
    assert (row.project, row.user, row.host, row.node) == ("p", "u", "h1", "n1")
    assert (row.vm_state, row.task_state, row.updated_at) == ("active", "rebooting", MOMENT)
    assert (row.deleted, row.hidden, row.ports_hold) == (False, False, False)
    assert plain(row) == {"VCPU": 2, "MEMORY_MB": 256, "DISK_GB": 6}


def test_an_instance_with_nothing_but_nulls_can_be_read():
    row = instance(flavor=None)
    assert (row.name, row.project, row.user) == ("", "", "")
    assert (row.host, row.node, row.vm_state, row.task_state) == (None, None, None, None)
    assert (row.hidden, row.flavor, row.updated_at) == (False, None, None)


@pytest.mark.parametrize(
    ("value", "deleted", "by_hand"), [(0, False, False), (1, True, True), (4711, True, False)]
)
def test_deleted_by_nova_is_its_id_and_by_hand_is_1(value, deleted, by_hand):
    row = instance(id=4711, deleted=value)
    assert (row.deleted, row.deleted_by_hand) == (deleted, by_hand)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "7",
        '"text"',
        "{}",
        '{"cur": null}',
        '{"cur": {}}',
        '{"cur": {"nova_object.data": null}}',
        '{"cur": {"nova_object.data": {"vcpus": 1}}}',
        flavor_text(vcpus=None),
        flavor_text(vcpus="two"),
        flavor_text(vcpus=0),
        flavor_text(memory_mb=-5),
        flavor_text(memory_mb={}),
        flavor_text(extra_specs=[1]),
        flavor_text()[:-9],
    ],
)
def test_a_flavor_that_cannot_be_read_is_none(text):
    row = instance(flavor=text)
    assert row.flavor is None


@pytest.mark.parametrize("size", ["root_gb", "ephemeral_gb", "swap"])
def test_a_flavor_with_a_size_that_is_null_cannot_be_read(size):
    """Nova cannot load it either: `Field 'swap' cannot be None`."""
    assert instance(flavor=flavor_text(**{size: None})).flavor is None


def test_extra_specs_that_are_null_are_none():
    row = instance(flavor=flavor_text(extra_specs=None))
    assert plain(row) == {"VCPU": 2, "MEMORY_MB": 256, "DISK_GB": 6}


@pytest.mark.parametrize(
    ("destinations", "by_volume"),
    [((), False), (("local",), False), (("volume",), True), (("local", "volume"), None)],
)
def test_root_devices_that_contradict_each_other_show_nothing(destinations, by_volume):
    assert instance(roots=destinations).volume_backed is by_volume


def test_during_a_resize_the_current_flavor_counts():
    text = json.dumps(
        {
            "cur": {"nova_object.data": PLAIN_FLAVOR | {"vcpus": 8}},
            "old": {"nova_object.data": PLAIN_FLAVOR},
            "new": {"nova_object.data": PLAIN_FLAVOR | {"vcpus": 8}},
        }
    )
    assert instance(flavor=text).flavor.vcpus == 8


@pytest.mark.parametrize(
    ("text", "holding"),
    [
        (None, ()),
        ("[]", ()),
        ('[{"profile": null}]', ()),
        ('[{"profile": {}}]', ()),
        ('[{"profile": {"allocation": {}}}]', ()),
        ('[{}, {"id": "p1", "profile": {"allocation": {"g": "p"}}}]', ("p1",)),
        ('[{"profile": {"allocation": {"g": "p"}}}]', None),
        ("null", None),
        ("{", None),
        ("[7]", None),
    ],
)
def test_a_port_may_hold_something_also_where_it_cannot_be_read(text, holding):
    found = instance(network_info=text)
    assert (found.ports_hold, found.ports_holding) == (holding != (), holding or ())


def test_a_migration_with_nothing_but_nulls_is_under_way():
    nulls = row_of(tables.migrations)
    one = instance_rows.migration(Reader("migrations", Notes()), nulls, "a-cell")
    assert one.under_way
    assert (one.kind, one.status) == ("migration", "of unknown status")
    assert (one.uuid, one.instance, one.source_host) == ("", "", None)


def numa_text(version: str, **cell: object) -> str:
    fields = {"id": 0, "memory": 64, "cpu_thread_policy": None} | cell
    kept = {"nova_object.version": version, "nova_object.data": fields}
    return json.dumps({"nova_object.data": {"cells": [kept]}})


@pytest.mark.parametrize(
    ("text", "shared", "dedicated"),
    [
        (numa_text("1.4", cpuset=[0, 1], cpu_policy="dedicated"), (), (0, 1)),
        (numa_text("1.4", cpuset=[0, 1], cpu_policy=None), (0, 1), ()),
        (numa_text("1.6", cpuset=[], pcpuset=[0, 1], cpu_policy="dedicated"), (), (0, 1)),
        (numa_text("1.6", cpuset=[1], pcpuset=[0], cpu_policy="mixed"), (1,), (0,)),
    ],
)
def test_dedicated_processors_up_to_ussuri_and_later(text, shared, dedicated):
    """Versions of InstanceNUMACell: 1.4 up to nova 21, 1.6 since nova 22."""
    topology = instance(numa_topology=text).numa_topology
    [cell] = topology.cells
    assert (cell.processors, cell.pinned) == (shared, dedicated)


def test_the_processors_of_the_host_are_those_of_the_guest_and_of_its_emulator():
    text = numa_text("1.6", pcpuset=[0, 1], cpu_pinning_raw={"0": 5, "1": 4}, cpuset_reserved=[6])
    [cell] = instance(numa_topology=text).numa_topology.cells
    assert cell.host_processors == (4, 5, 6)


@pytest.mark.parametrize(
    "text", ["{broken", "null", "[]", "7", "{}", '{"nova_object.data": {"cells": null}}']
)
def test_a_numa_topology_that_cannot_be_read_is_not_none(text):
    assert instance(numa_topology=text).numa_topology == NumaTopology(None)
    assert instance(numa_topology=None).numa_topology is None


@pytest.mark.parametrize("column", ["flavor", "pci_requests", "numa_topology", "resources"])
def test_json_that_is_nested_too_deeply_is_noted(column):
    _, notes = read(**{column: "[" * 5000 + "]" * 5000})
    assert reported(notes) == [("instance_extra", "70", column)]


def test_ports_that_are_nested_too_deeply_may_hold():
    assert instance(network_info="[" * 5000 + "]" * 5000).ports_hold
