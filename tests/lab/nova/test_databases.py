# SPDX-License-Identifier: Apache-2.0
import pytest
from sqlalchemy import select

from trueup.lab.nova.api_tables import API_SCHEMA, HOST_MAPPINGS
from trueup.lab.nova.cell_tables import CELL_SCHEMA, INSTANCES, SHADOW_INSTANCES
from trueup.lab.nova.databases import NovaDatabases, fill, transaction


def test_shadow_instances_have_the_columns_of_instances():
    assert SHADOW_INSTANCES.columns.keys() == INSTANCES.columns.keys()


def test_tables_have_exactly_the_columns_that_nova_has():
    counted = {
        table.name: len(table.columns)
        for schema in (API_SCHEMA, CELL_SCHEMA)
        for table in schema.tables.values()
    }
    assert counted == {
        "cell_mappings": 8,
        "host_mappings": 5,
        "instance_mappings": 8,
        "build_requests": 8,
        "request_specs": 5,
        "flavors": 15,
        "flavor_extra_specs": 6,
        "aggregates": 5,
        "aggregate_hosts": 5,
        "aggregate_metadata": 6,
        "quotas": 6,
        "quota_classes": 6,
        "instance_groups": 7,
        "instance_group_member": 5,
        "instance_group_policy": 6,
        "instances": 54,
        "instance_extra": 16,
        "instance_system_metadata": 8,
        "instance_info_caches": 7,
        "block_device_mapping": 28,
        "migrations": 27,
        "compute_nodes": 34,
        "services": 15,
        "pci_devices": 19,
        "instance_faults": 10,
        "shadow_instances": 54,
        "shadow_migrations": 27,
    }


def test_rows_are_written_together_or_not_at_all(tmp_path):
    databases = NovaDatabases(tmp_path)
    databases.create(["cell1"])
    twice = {HOST_MAPPINGS: [{"cell_id": 2, "host": "one"}, {"cell_id": 2, "host": "one"}]}
    with pytest.raises(Exception, match="UNIQUE"):
        fill(databases.api_url, twice)
    with transaction(databases.api_url) as connection:
        assert connection.execute(select(HOST_MAPPINGS)).all() == []
