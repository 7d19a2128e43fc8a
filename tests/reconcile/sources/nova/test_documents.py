# SPDX-License-Identifier: Apache-2.0
"""Documents that the recorded cloud does not have."""

from datetime import datetime

import pytest

from tests.clouds import answers
from trueup.reconcile.facts import HostAggregate
from trueup.reconcile.sources.nova import documents

SERVERS = answers.load("every-kind/api")["GET /servers/detail?all_tenants=1 2.98"][1]["servers"]
SERVER = next(row for row in SERVERS if row["name"] == "gold")


def server(**fields):
    return documents.instance(SERVER | fields, "a-cell")


def test_an_empty_image_is_a_volume_and_its_properties_are_not_told():
    assert (server(image="").volume_backed, server(image="").image_properties) == (True, None)


def test_before_image_properties_were_told_they_are_not_known():
    assert server(image={"id": "an-image"}).image_properties is None


@pytest.mark.parametrize(
    ("attached", "known"), [([], False), ([{"id": "a-volume"}], None), (None, None)]
)
def test_of_a_server_with_an_image_an_attached_volume_may_be_the_root_disk(attached, known):
    """A server keeps its image if that is a snapshot of a server that started from a volume."""
    row = server(**{"image": {"id": "an-image"}, "os-extended-volumes:volumes_attached": attached})
    assert row.volume_backed is known


def test_a_flavor_whose_extra_specs_are_hidden_is_not_known():
    hidden = {key: value for key, value in SERVER["flavor"].items() if key != "extra_specs"}
    assert server(flavor=hidden).flavor is None
    assert server(flavor=hidden).pci_requests is None


def test_a_flavor_with_an_alias_has_devices_that_are_not_told():
    specs = {"pci_passthrough:alias": "gpu:1"}
    assert server(flavor=SERVER["flavor"] | {"extra_specs": specs}).pci_requests is None


def test_a_soft_deleted_server_may_still_be_restored():
    soft = server(**{"status": "SOFT_DELETED", "OS-EXT-STS:vm_state": "soft-delete"})
    assert (soft.deleted, soft.soft_deleted) == (False, True)


@pytest.mark.parametrize("missing", ["id", "tenant_id", "OS-EXT-SRV-ATTR:host", "status"])
def test_a_server_that_lacks_a_part_is_none(missing):
    row = {key: value for key, value in SERVER.items() if key != missing}
    with pytest.raises(LookupError):
        documents.instance(row, "a-cell")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        (None, None),
        ("", None),
        ("2026-11-21T00:36:11.000000", datetime(2026, 11, 21, 0, 36, 11)),
        ("2026-11-21T00:36:11Z", datetime(2026, 11, 21, 0, 36, 11)),
        ("2026-11-21T02:36:11+02:00", datetime(2026, 11, 21, 0, 36, 11)),
    ],
)
def test_times_are_naive_utc(text, moment):
    assert documents.moment(text) == moment


def test_a_host_aggregate():
    row = {"uuid": "u", "name": "fast", "hosts": ["h1"], "metadata": {"ssd": "true"}}
    found = documents.host_aggregate(row)
    assert (found.hosts, found.metadata) == (("h1",), {"ssd": "true"})


def test_what_is_null_is_read_as_in_a_database():
    """As of a row in which somebody set a column to NULL by hand."""
    aggregate = {"uuid": None, "name": None, "hosts": ["h1", None], "metadata": {}}
    assert documents.host_aggregate(aggregate) == HostAggregate("", "", ("h1", ""))
    node = {"id": None, "hypervisor_hostname": None, "service": {"host": None}}
    found = documents.compute_node(node, "a-cell")
    assert (found.uuid, found.node, found.host) == ("", "", "")
    names = ("uuid", "instance_uuid", "migration_type", "status", "source_compute", "source_node",
             "dest_compute", "dest_node")  # fmt: skip
    move = documents.migration(dict.fromkeys(names), "a-cell")
    assert (move.uuid, move.instance, move.kind) == ("", "", "migration")
    nobody = server(name=None, tenant_id=None, user_id=None)
    assert (nobody.name, nobody.project, nobody.user) == ("", "", "")


@pytest.mark.parametrize(
    ("fields", "up"),
    [
        ({"state": "up", "updated_at": "2026-11-21T00:00:00"}, True),
        ({"state": "down", "updated_at": "2026-11-21T12:00:00"}, False),
        ({"state": "up", "forced_down": True}, False),
    ],
)
def test_nova_says_itself_whether_a_service_is_up(fields, up):
    """It knows its own clock and service_down_time."""
    row = {"host": "h1", "id": "s", "status": "enabled", "forced_down": False}
    row |= {"updated_at": "2026-11-21T12:00:00"}
    service = documents.compute_service(row | fields, "a-cell")
    assert service.is_up(datetime(2026, 11, 21, 12, 0)) is up
