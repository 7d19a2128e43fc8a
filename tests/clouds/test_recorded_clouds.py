# SPDX-License-Identifier: Apache-2.0
"""Each recorded cloud loads, matches its description, and works with both Placements."""

from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlencode

import pytest
import requests
import sqlalchemy
from keystoneauth1 import loading
from keystoneauth1.adapter import Adapter
from oslo_config import cfg
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from tests.clouds import damage, recordings
from tests.clouds.cloud import RecordedCloud
from tests.clouds.ledger import ledger_at, placement_json
from tests.clouds.loading import loaded_databases
from tests.servers.databases import DatabaseServer
from tests.servers.placement import placement_server

Cloud = Callable[..., RecordedCloud]

# Rows of resource_providers, consumers and allocations in each recording.
LEDGERS = {
    "healthy": (5, 10, 34),
    "deleted-by-hand": (5, 10, 34),
    "missing-and-wrong": (5, 9, 31),
    "uuid-changed": (5, 10, 34),
    "port-without-allocation": (5, 10, 32),
    "placement-emptied": (0, 0, 0),
    "evacuated": (5, 10, 40),
    "every-kind": (6, 13, 48),
}
# Instances in each cell, and those deleted in cell1, where they are others than in most.
INSTANCES = {"every-kind": [1, 13, 2]}
DELETED = {"deleted-by-hand": 2, "every-kind": 1}
WEB1 = "SELECT uuid FROM instances WHERE display_name = 'web1'"


def scalars(url: str, query: str) -> list:
    engine = sqlalchemy.create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        return list(connection.execute(sqlalchemy.text(query)).scalars())


def count(url: str, table: str, condition: str = "1 = 1") -> int:
    return scalars(url, f"SELECT COUNT(*) FROM {table} WHERE {condition}")[0]


def adapter_from(nova_conf: Path) -> Adapter:
    """As Nova's own services make their Placement client."""
    configuration = cfg.ConfigOpts()
    loading.register_auth_conf_options(configuration, "placement")
    loading.register_session_conf_options(configuration, "placement")
    loading.register_adapter_conf_options(configuration, "placement")
    configuration(["--config-file", str(nova_conf)])
    auth = loading.load_auth_from_conf_options(configuration, "placement")
    session = loading.load_session_from_conf_options(configuration, "placement", auth=auth)
    return loading.load_adapter_from_conf_options(configuration, "placement", session=session)


def connection_in(nova_conf: Path, group: str) -> str:
    configuration = cfg.ConfigOpts()
    configuration.register_opt(cfg.StrOpt("connection"), group)
    configuration(["--config-file", str(nova_conf)])
    return configuration[group].connection


@pytest.mark.parametrize("name", recordings.CLOUDS)
def test_the_databases_are_as_recorded(
    name: str, mariadb_server: DatabaseServer, recorded_cells: Callable[[str], Mapping[str, str]]
) -> None:
    tables = ("resource_providers", "consumers", "allocations")
    with loaded_databases(name, [recordings.PLACEMENT], mariadb_server) as urls:
        assert tuple(count(urls["placement"], table) for table in tables) == LEDGERS[name]
    cells = recorded_cells(name)
    counted = [count(cells[cell], "instances") for cell in recordings.CELLS]
    assert counted == INSTANCES.get(name, [0, 8, 2])
    assert count(cells["cell1"], "instances", "deleted != 0") == DELETED.get(name, 0)
    hosts = "SELECT host FROM compute_nodes WHERE deleted = 0 ORDER BY host"
    assert scalars(cells["cell1"], hosts) == ["devstack1", "devstack2"]
    assert scalars(cells["cell2"], hosts) == ["devstack3"]
    assert recordings.what(name)


def test_the_cell_mappings_lead_to_the_loaded_cells(recorded_cloud: Cloud) -> None:
    cloud = recorded_cloud("healthy")
    mapped = "SELECT database_connection FROM cell_mappings ORDER BY id"
    assert scalars(cloud.nova_api_url, mapped) == [
        cloud.cell_urls[cell] for cell in recordings.CELLS
    ]


@pytest.mark.parametrize("name", recordings.CLOUDS)
def test_both_placements_have_the_same_ledger(name: str, recorded_cloud: Cloud) -> None:
    cloud = recorded_cloud(name)
    upstream = placement_json(cloud)
    assert len(upstream["providers"]) == LEDGERS[name][0]
    assert len(upstream["allocations"]) == LEDGERS[name][1]
    with placement_server("trueup", cloud.placement_database_url) as ours:
        assert ledger_at(ours.url) == upstream


def test_nova_conf_leads_to_placement_and_to_the_databases(recorded_cloud: Cloud) -> None:
    cloud = recorded_cloud("healthy")
    answer = adapter_from(cloud.nova_conf).get("/resource_providers")
    names = {provider["name"] for provider in answer.json()["resource_providers"]}
    assert {"devstack1", "devstack2", "devstack3"} <= names
    assert connection_in(cloud.nova_conf, "api_database") == cloud.nova_api_url
    assert connection_in(cloud.nova_conf, "database") == cloud.cell_urls["cell1"]
    assert len(scalars(cloud.cell_urls["cell1"], WEB1)) == 1


def test_several_clouds_stand_side_by_side(recorded_cloud: Cloud) -> None:
    healthy, emptied = recorded_cloud("healthy"), recorded_cloud("placement-emptied")
    assert len(placement_json(healthy)["allocations"]) == 10
    assert placement_json(emptied) == {"providers": {}, "allocations": {}}


def test_a_cell_can_be_out_of_reach_and_come_back(recorded_cloud: Cloud) -> None:
    cloud = recorded_cloud("healthy")
    mapped = "SELECT database_connection FROM cell_mappings WHERE name = 'cell2'"
    with damage.unreachable_cell(cloud, "cell2"):
        [url] = scalars(cloud.nova_api_url, mapped)
        with pytest.raises(sqlalchemy.exc.OperationalError):
            count(url, "instances")
    [url] = scalars(cloud.nova_api_url, mapped)
    assert count(url, "instances") == 2


def test_a_cell_can_be_lost_without_harm_to_other_tests(recorded_cloud: Cloud) -> None:
    shared = recorded_cloud("healthy")
    with pytest.raises(ValueError, match="own_cells"):
        damage.drop_cell(shared, "cell2")
    cloud = recorded_cloud("healthy", own_cells=True)
    damage.drop_cell(cloud, "cell2")
    with pytest.raises(sqlalchemy.exc.OperationalError):
        count(cloud.cell_urls["cell2"], "instances")
    assert count(shared.cell_urls["cell2"], "instances") == 2


def test_cells_can_be_mapped_by_template(recorded_cloud: Cloud) -> None:
    cloud = recorded_cloud("healthy")
    damage.map_cells_by_template(cloud)
    mapped = "SELECT database_connection FROM cell_mappings WHERE name = 'cell1'"
    parts = make_url(connection_in(cloud.nova_conf, "database"))
    [template] = scalars(cloud.nova_api_url, mapped)
    assert cloud.cell_urls["cell1"] == template.format(
        scheme=parts.drivername,
        username=parts.username,
        password=parts.password,
        hostname=parts.host,
        port=parts.port,
        query=urlencode(parts.query),
    )


def test_placement_can_be_stopped(recorded_cloud: Cloud) -> None:
    cloud = recorded_cloud("healthy")
    damage.stop_placement(cloud)
    with pytest.raises(requests.ConnectionError):
        placement_json(cloud)
