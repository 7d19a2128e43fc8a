# SPDX-License-Identifier: Apache-2.0
"""Reports of operators about moves, on the databases of a real OpenStack: `tests/clouds/field`."""

import pytest
import sqlalchemy
from sqlalchemy.pool import NullPool

from tests.cli.running import trueup
from tests.clouds.cloud import RecordedCloud
from tests.clouds.field import hypervisors, reported
from tests.clouds.ledger import placement_json
from tests.reconcile.test_recorded_clouds import DB1, DB2, MOVING, WEB1, WEB2, audit, plan

MOVE = "11111111-aaaa-4111-8111-000000000001"
APP1, APP2 = "7fc148b4-4ae7-44a9-aa4f-a2349345e5ee", "a6d60abb-c4b2-40b0-b011-380a71a435f2"
OTHERS = {"devstack2": {WEB2, DB1, DB2, MOVING}, "devstack3": {APP1, APP2}}


def hosts_of(cloud: RecordedCloud, consumer: str) -> set[str]:
    """The names of the providers of which it holds something."""
    ledger = placement_json(cloud)
    found = ledger["allocations"].get(consumer, {"allocations": {}})
    return {ledger["providers"][uuid]["name"] for uuid in found["allocations"]}


def rows_of(cloud: RecordedCloud, consumer: str) -> list[tuple]:
    """The rows of its allocations with their ids, and its generation."""
    engine = sqlalchemy.create_engine(cloud.placement_database_url, poolclass=NullPool)
    query = (
        "SELECT allocations.id, generation FROM allocations JOIN consumers ON uuid = consumer_id "
        f"WHERE uuid = '{consumer}' ORDER BY 1"
    )
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(sqlalchemy.text(query))]


def of_web1(ran) -> list[tuple[str, str]]:
    rows = ran.json()
    return [(row["Verdict"], row["Defect"]) for row in rows if row["Subject"] in (WEB1, MOVE)]


@pytest.mark.parametrize("number", ["01", "02"])
def test_where_only_a_hypervisor_knows_where_the_guest_is_nothing_is_planned(
    recorded_cloud, tmp_path, number
):
    cloud = recorded_cloud("healthy", "trueup", own_cells=True)
    reported(cloud, number)
    ran = audit(cloud)
    assert (of_web1(ran), ran.code) == ([("could not check", "")], 5)
    [reason] = [row["Evidence"]["reason"] for row in ran.json()]
    assert "its guest may be on devstack1 or on devstack2" in reason
    assert "--libvirt" in reason
    assert plan(cloud, tmp_path / "plan.json").json() == []


@pytest.mark.parametrize(
    ("number", "guests", "right"),
    [
        ("01", {"devstack1": (), "devstack2": {*OTHERS["devstack2"], WEB1}}, "devstack2"),
        ("01", {"devstack1": {WEB1}, "devstack2": OTHERS["devstack2"]}, "devstack1"),
        ("02", {"devstack1": {WEB1}, "devstack2": OTHERS["devstack2"]}, "devstack1"),
    ],
    ids=["failed, on the target", "failed, on the source", "retried, on the source"],
)
def test_the_claim_of_the_host_that_has_the_guest_stays_and_the_other_is_released(
    recorded_cloud, tmp_path, monkeypatch, number, guests, right
):
    monkeypatch.setenv("TRUEUP_STATE_DIR", str(tmp_path / "state"))
    cloud = recorded_cloud("healthy", "trueup", own_cells=True)
    reported(cloud, number)
    asked = ("--libvirt", hypervisors(tmp_path, {**OTHERS, **guests}))
    path = tmp_path / "plan.json"
    assert plan(cloud, path, *asked).code == 3
    applied = trueup("apply", "--nova-conf", cloud.nova_conf, path, *asked)
    assert applied.code == 0, applied.out + applied.err
    assert hosts_of(cloud, WEB1) == {right}
    assert hosts_of(cloud, MOVE) == set()


def test_a_retry_that_failed_lets_heal_allocations_move_no_claim(recorded_cloud):
    cloud = recorded_cloud("healthy", "trueup", own_cells=True)
    reported(cloud, "02")
    before = placement_json(cloud)
    cell = "SELECT uuid FROM cell_mappings WHERE name = 'cell1'"
    engine = sqlalchemy.create_engine(cloud.nova_api_url, poolclass=NullPool)
    with engine.connect() as connection:
        [uuid] = connection.execute(sqlalchemy.text(cell)).scalars()
    heal = ("nova-manage", "--config-file", cloud.nova_conf, "placement", "heal_allocations")
    for options in ((), ("--force",)):
        trueup(*heal, "--cell", uuid, *options)
        assert placement_json(cloud) == before


def test_a_reinstalled_host_is_released_by_the_word_of_its_hypervisor(
    recorded_cloud, tmp_path, monkeypatch
):
    monkeypatch.setenv("TRUEUP_STATE_DIR", str(tmp_path / "state"))
    cloud = recorded_cloud("evacuated", "trueup", own_cells=True)
    reported(cloud, "09")
    unasked = [row for row in audit(cloud).json() if row["Verdict"] == "could not check"]
    assert {row["Subject"] for row in unasked} == {WEB1, WEB2}
    assert all("--libvirt" in row["Evidence"]["reason"] for row in unasked)
    guests = {"devstack1": (), "devstack2": {*OTHERS["devstack2"], WEB1}}
    asked = ("--libvirt", hypervisors(tmp_path, {**OTHERS, **guests}))
    path = tmp_path / "plan.json"
    assert plan(cloud, path, *asked).code == 3
    applied = trueup("apply", "--nova-conf", cloud.nova_conf, path, *asked)
    assert applied.code == 0, applied.out + applied.err
    assert "devstack1" not in hosts_of(cloud, WEB1) | hosts_of(cloud, WEB2)


def test_a_right_claim_beside_a_leaked_one_is_not_written_to(recorded_cloud, tmp_path, monkeypatch):
    monkeypatch.setenv("TRUEUP_STATE_DIR", str(tmp_path / "state"))
    cloud = recorded_cloud("healthy", "trueup", own_cells=True)
    reported(cloud, "16")
    before = rows_of(cloud, WEB1)
    assert before
    path = tmp_path / "plan.json"
    assert plan(cloud, path).code == 3
    applied = trueup("apply", "--nova-conf", cloud.nova_conf, path)
    assert applied.code == 0, applied.out + applied.err
    assert rows_of(cloud, WEB1) == before
    assert rows_of(cloud, MOVE) == []
