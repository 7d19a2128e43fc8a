# SPDX-License-Identifier: Apache-2.0
"""The API database: mappings, boots and aggregates, as a whole and of a few instances."""

import pytest

from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.nova.contract import Registry
from trueup.reconcile.sources.nova.databases import NovaDatabases


@pytest.fixture
def nova(small) -> NovaDatabases:
    return small.cloud.nova


def whole(nova: NovaDatabases) -> Registry:
    return nova.registry(nova.cells())


def test_everything_that_is_mapped_is_read(small, nova):
    registry = whole(nova)
    cells = {cell.number: cell.uuid for cell in nova.cells()}
    hosts = small.sql("nova_api", "SELECT host, cell_id FROM host_mappings")
    assert {(row.host, row.cell) for row in registry.host_mappings} == {
        (row["host"], cells[row["cell_id"]]) for row in hosts
    }
    mapped = small.sql("nova_api", "SELECT instance_uuid FROM instance_mappings")
    assert {row.instance for row in registry.instance_mappings} == {
        row["instance_uuid"] for row in mapped
    }
    specs = small.sql("nova_api", "SELECT instance_uuid FROM request_specs")
    assert registry.request_specs == {row["instance_uuid"] for row in specs}
    builds = small.sql("nova_api", "SELECT instance_uuid FROM build_requests")
    assert {row.instance for row in registry.build_requests} == {
        row["instance_uuid"] for row in builds
    }
    assert registry.noted.unread_rows == 0
    assert registry.rows >= len(mapped) + len(specs)


def test_aggregates_have_their_hosts(small, nova):
    expected = small.sql(
        "nova_api",
        "SELECT a.uuid, h.host FROM aggregates a JOIN aggregate_hosts h ON h.aggregate_id = a.id",
    )
    reported = {(one.uuid, host) for one in whole(nova).host_aggregates for host in one.hosts}
    assert reported == {(row["uuid"], row["host"]) for row in expected}
    assert reported


@pytest.mark.parametrize("uuid", [None, "rack-1"])
def test_aggregates_without_a_uuid_are_noted_and_left_out(small, nova, uuid):
    """Placement cannot have them, so providers would look as if they lacked them."""
    small.sql("nova_api", "UPDATE aggregates SET uuid = ? WHERE name = 'ssd'", uuid)
    registry = whole(nova)
    assert [one.name for one in registry.host_aggregates] == ["rack-one"]
    [noted] = registry.noted.unread
    assert (noted.table, noted.column) == ("aggregates", "uuid")


def test_an_aggregate_with_a_host_without_a_name_is_noted_and_left_out(small, nova):
    """It may be any host: no provider is taken out of the aggregate."""
    query = "SELECT id FROM aggregates WHERE name = 'ssd'"
    small.sql("nova_api", f"UPDATE aggregate_hosts SET host = NULL WHERE aggregate_id = ({query})")
    registry = whole(nova)
    assert [one.name for one in registry.host_aggregates] == ["rack-one"]
    assert [one.column for one in registry.noted.unread] == ["hosts"]


def test_of_a_few_instances_only_theirs_is_read(nova):
    uuid = sorted(whole(nova).request_specs)[0]
    few = nova.registry(nova.cells(), [uuid])
    assert [row.instance for row in few.instance_mappings] == [uuid]
    assert few.request_specs == {uuid}
    assert few.build_requests == whole(nova).build_requests
    assert few.host_mappings == whole(nova).host_mappings


@pytest.mark.parametrize(
    "table",
    [
        "aggregate_hosts", "aggregate_metadata", "aggregates", "build_requests", "host_mappings",
        "instance_mappings", "request_specs",
    ],
)  # fmt: skip
def test_without_one_of_its_tables_nothing_can_be_said(small, nova, table):
    small.sql("nova_api", f"DROP TABLE {table}")
    with pytest.raises(Unreachable) as silent:
        whole(nova)
    assert f"no such table: {table}" in silent.value.reason


def test_flavors_have_their_extra_specs_and_disabled_ones_are_left_out(small, nova):
    small.sql("nova_api", "UPDATE flavors SET disabled = 1 WHERE name = 'lab.huge'")
    small.sql(
        "nova_api",
        "INSERT INTO flavor_extra_specs (flavor_id, key, value)"
        " SELECT id, 'hw:cpu_policy', 'shared' FROM flavors WHERE name = 'lab.tiny'",
    )
    found = {one.name: one for one in nova.flavors()}
    assert list(found) == ["lab.large", "lab.medium", "lab.scratch", "lab.small", "lab.tiny"]
    assert found["lab.tiny"].extra_specs == {"hw:cpu_policy": "shared"}
    assert found["lab.tiny"].swap_mb == 512
    assert found["lab.large"].vcpus == 4
