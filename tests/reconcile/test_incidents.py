# SPDX-License-Identifier: Apache-2.0
"""Incidents that are made by hand, with SQL, on the databases of a real OpenStack.

Each once misled an audit. What is expected is what an operator would say who knows what was done.
"""

from pathlib import Path

import pytest

from tests.cli.running import trueup
from tests.clouds import damage
from tests.clouds.cloud import RecordedCloud
from tests.clouds.neutron import recorded_neutron
from tests.reconcile.test_recorded_clouds import DB1, WEB1, audit, plan

# The provider of the bandwidth of devstack1.
NIC = "f94dacca-2dc0-42d5-933e-63d17c2f75cb"
# Its processors are dedicated, by its image.
BY_IMAGE = "909cd9fd-677f-4173-b50c-68c80a0def72"
DEVSTACK1 = "SELECT id FROM resource_providers WHERE name = 'devstack1'"
DEVSTACK2 = "SELECT id FROM resource_providers WHERE name = 'devstack2'"
OTHER_OWNER = (
    "INSERT INTO projects (external_id) VALUES ('another')",
    "UPDATE consumers SET project_id = (SELECT id FROM projects WHERE external_id = 'another') "
    f"WHERE uuid = '{DB1}'",
)


def planted(cloud: RecordedCloud, *statements: str) -> None:
    """Change Placement's rows by hand."""
    for statement in statements:
        damage.execute(cloud.placement_database_url, statement)


def found(cloud: RecordedCloud) -> tuple[set[tuple[str, str]], int]:
    """The findings, and the exit code."""
    ran = audit(cloud)
    rows = [row for row in ran.json() if row["Verdict"] == "finding"]
    return {(row["Defect"], row["Subject"]) for row in rows}, ran.code


def test_a_consumer_in_capital_letters_is_not_taken_for_a_second_row(recorded_cloud, tmp_path):
    """MariaDB compares without case: it returns the instance again for the other form."""
    cloud = recorded_cloud("healthy", "trueup")
    planted(
        cloud,
        f"UPDATE allocations SET consumer_id = UPPER(consumer_id) WHERE consumer_id = '{DB1}'",
        f"UPDATE consumers SET uuid = UPPER(uuid) WHERE uuid = '{DB1}'",
    )
    assert found(cloud) == ({("split-consumer", DB1)}, 3)
    planned = plan(cloud, tmp_path / "plan.json")
    assert planned.json() == []
    assert f"UPDATE consumers SET uuid = '{DB1}' WHERE uuid = '{DB1.upper()}'" in planned.err


@pytest.mark.parametrize("options", [(), ("--host", "devstack1"), ("--host", "devstack2")])
def test_of_a_broken_tree_nothing_is_released(recorded_cloud, tmp_path, options):
    """A child with the root of another host made its healthy consumers look doubled."""
    cloud = recorded_cloud("healthy", "trueup")
    planted(
        cloud,
        f"UPDATE resource_providers SET root_provider_id = ({_copied(DEVSTACK2)}) "
        f"WHERE uuid = '{NIC}'",
    )
    ran = audit(cloud, *options)
    rows = [(row["Defect"], row["Subject"]) for row in ran.json() if row["Verdict"] == "finding"]
    assert set(rows) <= {("broken-tree", NIC)}
    assert rows or options
    assert ran.code == 5
    assert plan(cloud, tmp_path / "plan.json").json() == []


@pytest.mark.parametrize("by_database", [False, True])
def test_an_instance_beside_a_broken_tree_is_not_checked_however_it_is_selected(
    recorded_cloud, by_database
):
    """A child of its host's provider has the root of another: nothing else of the tree shows it."""
    cloud = recorded_cloud("healthy", "trueup")
    planted(
        cloud,
        f"UPDATE resource_providers SET root_provider_id = ({_copied(DEVSTACK2)}) "
        f"WHERE uuid = '{NIC}'",
    )
    way = ("--placement-database", cloud.placement_database_url) if by_database else ()
    words = "the tree of its provider is broken: devstack1"
    for options in ((), ("--instance", WEB1), ("--host", "devstack1")):
        ran = audit(cloud, *options, *way)
        reasons = {
            row["Evidence"]["reason"] for row in ran.json() if row["Verdict"] == "could not check"
        }
        assert any(one.startswith(words) for one in reasons), (options, reasons)
        assert ran.code == 5
    told = trueup("explain", "instance", WEB1, "--nova-conf", cloud.nova_conf, *way)
    assert words in told.out


@pytest.mark.parametrize("lost", ["", f" WHERE instance_uuid = '{BY_IMAGE}'"])
def test_without_image_properties_no_dedicated_processor_is_released(
    recorded_cloud, tmp_path, lost
):
    """Which the image asked for: the flavor alone asks for shared ones."""
    cloud = recorded_cloud("every-kind", "trueup", own_cells=True)
    assert audit(cloud).code == 0
    damage.change_cell(cloud, "cell1", f"DELETE FROM instance_system_metadata{lost}")
    ran = audit(cloud)
    rows = {row["Subject"]: row for row in ran.json()}
    assert (rows[BY_IMAGE]["Verdict"], ran.code) == ("could not check", 5)
    assert "image properties could not be read" in rows[BY_IMAGE]["Evidence"]["reason"]
    assert plan(cloud, tmp_path / "plan.json").json() == []


def _copied(query: str) -> str:
    """MySQL reads no table that it writes, but a copy of it."""
    return f"SELECT id FROM ({query}) AS copied"


def test_a_neutron_that_lost_its_ports_releases_nothing(recorded_cloud, tmp_path):
    cloud = recorded_cloud("healthy", "trueup")
    with recorded_neutron("healthy", cloud.nova_conf) as neutron:
        neutron.ports.clear()
        assert found(cloud) == (set(), 5)
        assert "it lists no port at all" in audit(cloud).err
        assert plan(cloud, tmp_path / "plan.json").json() == []


def test_an_owner_and_amounts_that_are_both_wrong_are_both_told(
    recorded_cloud, tmp_path: Path, monkeypatch
):
    monkeypatch.setenv("TRUEUP_STATE_DIR", str(tmp_path / "state"))
    cloud = recorded_cloud("healthy", "trueup")
    planted(
        cloud,
        *OTHER_OWNER,
        f"UPDATE allocations SET resource_provider_id = ({DEVSTACK1}) WHERE consumer_id = '{DB1}'",
    )
    assert found(cloud) == ({("wrong-provider", DB1), ("wrong-owner", DB1)}, 3)
    path = tmp_path / "plan.json"
    assert len(plan(cloud, path).json()) == 1
    conf = ("--nova-conf", cloud.nova_conf)
    assert trueup("rehearse", *conf, path).code == 0
    assert trueup("apply", *conf, path).code == 0
    assert found(cloud) == ({("wrong-owner", DB1)}, 3)
    assert len(plan(cloud, path).json()) == 1
    assert trueup("apply", *conf, path).code == 0
    assert found(cloud) == (set(), 0)


def test_a_consumer_that_placement_cannot_show_does_not_stop_a_plan_for_others(
    recorded_cloud, tmp_path
):
    """A row without timestamps, made by hand: upstream answers HTTP 500 for its consumer."""
    cloud = recorded_cloud("healthy", "upstream")
    planted(
        cloud,
        "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) "
        f"VALUES (({DEVSTACK2}), '{WEB1}', 0, 2)",
        f"DELETE FROM allocations WHERE consumer_id = '{DB1}'",
        f"DELETE FROM consumers WHERE uuid = '{DB1}'",
    )
    ran = plan(cloud, tmp_path / "plan.json", "--placement-database", cloud.placement_database_url)
    assert [row["Subject"] for row in ran.json()] == [DB1]
    assert f"No step for doubled-allocation:{WEB1}" in ran.err
    assert "Placement answers HTTP 500 for it" in ran.err


UNDATED = {
    "allocations": "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id,"
    f" used) VALUES (({DEVSTACK2}), '{WEB1}', 0, 2)",
    "inventories": "UPDATE inventories SET created_at = NULL, updated_at = NULL"
    f" WHERE resource_provider_id = ({DEVSTACK2}) AND resource_class_id = 0",
    "providers": "INSERT INTO resource_providers (uuid, name, generation)"
    " VALUES ('99999999-0000-4000-8000-000000000000', 'by hand', 0)",
}


@pytest.mark.parametrize("options", [(), ("--host", "devstack2")])
@pytest.mark.parametrize("rows", UNDATED)
def test_rows_without_timestamps_are_read_over_the_api_of_upstream(recorded_cloud, rows, options):
    """Upstream's service answers HTTP 500, for it compares them with those of others."""
    cloud = recorded_cloud("healthy", "upstream")
    planted(
        cloud,
        UNDATED[rows],
        "UPDATE resource_providers SET root_provider_id = id WHERE root_provider_id IS NULL",
    )
    ran = audit(cloud, *options)
    subjects = [row["Subject"] for row in ran.json() if row["Verdict"] == "finding"]
    assert subjects == ([WEB1] if rows == "allocations" else [])
    assert ran.code == (3 if subjects else 0)
    assert "timestamps: HTTP 500" in ran.err


@pytest.mark.parametrize("options", [(), ("--host", "devstack2")])
@pytest.mark.parametrize("table", ["allocations", "inventories"])
def test_what_upstream_cannot_show_is_not_taken_for_deleted(recorded_cloud, table, options):
    """For a row whose resource class does not exist, its service answers 404."""
    cloud = recorded_cloud("healthy", "upstream")
    planted(
        cloud,
        f"UPDATE {table} SET resource_class_id = 9999"
        f" WHERE resource_provider_id = ({DEVSTACK2}) AND resource_class_id = 0",
    )
    ran = audit(cloud, *options)
    assert (ran.code, ran.out) == (5, "")
    assert "HTTP 404 for /resource_providers/" in ran.err
    assert "--placement-database" in ran.err
    read = audit(cloud, "--placement-database", cloud.placement_database_url, *options)
    found_there = [row["Defect"] for row in read.json() if row["Verdict"] == "finding"]
    assert "dangling-rows" in found_there or options
    assert "missing-provider" not in found_there
