# SPDX-License-Identifier: Apache-2.0
"""Rows about hosts, and of the API database, as Nova writes them and as nobody should have."""

from datetime import datetime

import pytest

from tests.reconcile.sources.rows import row, row_of
from trueup.reconcile.facts import HostAggregate, HostMapping, InstanceMapping
from trueup.reconcile.sources.notes import Notes
from trueup.reconcile.sources.nova import host_rows as rows
from trueup.reconcile.sources.nova import tables
from trueup.reconcile.sources.reading import Reader

MOMENT = datetime(2026, 11, 21, 12, 0, 0)
UUID = "5eb033fd-1111-4222-8333-444455556666"


def test_a_compute_node_with_nothing_but_nulls_can_be_read():
    row = row_of(tables.compute_nodes)
    read = rows.compute_node(Reader("compute_nodes", Notes()), row, "a-cell")
    assert (read.uuid, read.host, read.node, read.deleted) == ("", "", "", False)


@pytest.mark.parametrize(
    ("seen", "updated", "created", "last"),
    [
        (MOMENT, None, None, MOMENT),
        (None, MOMENT, None, MOMENT),
        (None, None, MOMENT, MOMENT),
        (None, None, None, None),
        (MOMENT, datetime(2030, 1, 1), datetime(2030, 1, 1), MOMENT),
    ],
)
def test_a_service_was_last_seen_when_it_said_so_or_when_its_row_changed(
    seen, updated, created, last
):
    times = {"last_seen_up": seen, "updated_at": updated, "created_at": created}
    row = row_of(tables.services, host="h1", **times)
    read = rows.compute_service(Reader("services", Notes()), row, "a-cell")
    assert (read.host, read.forced_down, read.last_seen) == ("h1", False, last)


@pytest.mark.parametrize(("value", "deleted"), [(0, False), (None, False), (1, True), (7, True)])
def test_a_node_and_a_service_may_be_deleted(value, deleted):
    node = row_of(tables.compute_nodes, deleted=value)
    service = row_of(tables.services, deleted=value)
    notes = Notes()
    reader = Reader("a table", notes)
    assert rows.compute_node(reader, node, "c").deleted is deleted
    assert rows.compute_service(reader, service, "c").deleted is deleted
    # Nova asks for rows whose `deleted` is 0, or is not.
    assert [one.column for one in notes.unread] == ["deleted"] * (2 if value is None else 0)


def test_a_version_that_is_no_number_is_not_known():
    """SQLite stores text in a column of integers."""
    notes = Notes()
    row = row_of(tables.services, id=4, deleted=0, version="thirty")
    assert rows.compute_service(Reader("services", notes), row, "c").version == 0
    [unread] = notes.unread
    assert (unread.table, unread.row, unread.column) == ("services", "4", "version")


def test_a_service_that_was_last_seen_in_1970_was_never_seen():
    notes = Notes()
    row = row_of(tables.services, id=4, deleted=0, last_seen_up=datetime(1970, 1, 1))
    assert rows.compute_service(Reader("services", notes), row, "c").last_seen is None
    [unread] = notes.unread
    assert (unread.table, unread.row, unread.column) == ("services", "4", "last_seen_up")


@pytest.mark.parametrize(
    ("text", "interface", "noted"),
    [
        (None, None, 0),
        ("{}", None, 0),
        ('{"parent_ifname": "ens1f0", "mac_address": "x"}', "ens1f0", 0),
        ("{", None, 1),
        ("[]", None, 1),
    ],
)
def test_the_interface_above_a_virtual_function(text, interface, noted):
    notes = Notes()
    row = row_of(tables.pci_devices, id=3, address="0000:81:00.1", extra_info=text)
    device = rows.pci_device(Reader("pci_devices", notes), row, "c")
    assert (device.address, device.parent_interface, device.instance) == (
        "0000:81:00.1", interface, None
    )  # fmt: skip
    assert notes.count == noted


def test_the_provider_from_which_a_device_is_allocated():
    row = row_of(tables.pci_devices, id=3, extra_info='{"rp_uuid": "a-provider"}')
    assert rows.pci_device(Reader("pci_devices", Notes()), row, "c").provider == "a-provider"


def test_mappings_name_cells_by_their_uuid():
    reader, cells = Reader("instance_mappings", Notes()), {2: "cell-two"}
    host = row_of(tables.host_mappings, host="h1", cell_id=2)
    assert rows.host_mapping(host, cells) == HostMapping("h1", "cell-two")

    def mapping(**columns: object) -> InstanceMapping:
        row = row_of(tables.instance_mappings, instance_uuid=UUID, project_id="p", **columns)
        return rows.instance_mapping(reader, row, cells)

    chosen = mapping(cell_id=2, queued_for_delete=1)
    assert (chosen.cell, chosen.queued_for_delete) == ("cell-two", True)
    open_ = mapping()
    assert (open_.cell, open_.queued_for_delete) == (None, False)
    assert mapping(cell_id=9).cell == ""


def test_a_build_request_with_nothing_but_nulls_can_be_read():
    request = rows.build_request(Reader("b", Notes()), row_of(tables.build_requests))
    assert (request.instance, request.project, request.created_at) == ("", "", None)


def test_an_aggregate_has_its_hosts_and_its_metadata():
    reported = rows.host_aggregates(
        Reader("aggregates", Notes()),
        [row(id=1, uuid=UUID, name="fast"), row(id=2, uuid=UUID, name=None)],
        [row(aggregate_id=1, host="h1"), row(aggregate_id=1, host="h2")],
        [row(aggregate_id=1, key="ssd", value="true")],
    )
    assert list(reported) == [
        HostAggregate(UUID, "fast", ("h1", "h2"), {"ssd": "true"}),
        HostAggregate(UUID, "", (), {}),
    ]


@pytest.mark.parametrize("uuid", [None, "", "rack-1", 7])
def test_an_aggregate_without_a_uuid_is_noted_and_left_out(uuid):
    notes = Notes()
    told = rows.host_aggregates(
        Reader("aggregates", notes),
        [row(id=1, uuid=uuid, name="old")],
        [row(aggregate_id=1, host="h1")],
        [],
    )
    assert list(told) == []
    assert [(one.table, one.row, one.column) for one in notes.unread] == [
        ("aggregates", "1", "uuid")
    ]
