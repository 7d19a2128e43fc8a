# SPDX-License-Identifier: Apache-2.0
"""The whole pipeline on the databases of a real OpenStack, on both Placements."""

from pathlib import Path

import pytest

from tests.cli.running import ROWS, Ran, trueup
from tests.clouds.cloud import RecordedCloud
from tests.clouds.ledger import placement_json

WEB1 = "ae8efa00-4238-4efe-8a6f-5f7f91d106ec"
WEB2 = "3611329e-6cff-4155-8dc0-c93904d7b335"
DB1 = "3fd4e917-cc39-456d-b947-bde053c9d381"
DB2 = "cbc97876-f1bc-422c-9815-ada433ba9b47"
# Its allocations are of a project that is all zeros.
APP1 = "7fc148b4-4ae7-44a9-aa4f-a2349345e5ee"
APP2 = "a6d60abb-c4b2-40b0-b011-380a71a435f2"
PROJECT = "dde09582db8e46f894965fe3ff693940"
MOVING = "3fc05792-82f1-48c5-bf09-25550edee132"

FINDINGS = {
    "healthy": set(),
    "deleted-by-hand": {("orphaned-allocation", WEB2), ("orphaned-allocation", DB2)},
    "evacuated": {("evacuation-residue", WEB1), ("evacuation-residue", WEB2)},
    "missing-and-wrong": {
        ("missing-allocation", WEB1),
        ("wrong-provider", DB1),
        ("wrong-amount", APP2),
        ("wrong-owner", APP1),
    },
}
# Upstream's API does not tell the owners of all consumers of a cloud.
NOT_OF_UPSTREAM = {("wrong-owner", APP1)}
# Hosts without a provider of their own: what instances on them hold cannot be checked.
UNTOLD_HOSTS = {
    "uuid-changed": {("provider-identity-clash", "devstack2")},
    "placement-emptied": {("missing-provider", f"devstack{number}") for number in (1, 2, 3)},
}


def findings(name: str, placement: str) -> set[tuple[str, str]]:
    """What is found in a whole cloud that is served by this Placement."""
    return FINDINGS[name] - (NOT_OF_UPSTREAM if placement == "upstream" else set())


BOTH = pytest.mark.parametrize("placement", ["upstream", "trueup"])


def audit(cloud: RecordedCloud, *options: str) -> Ran:
    return trueup("audit", "--nova-conf", cloud.nova_conf, *ROWS, *options)


def plan(cloud: RecordedCloud, path: Path, *options: str) -> Ran:
    rows = ("--interval", "0.01", "--out", path, "-f", "json")
    return trueup("plan", "--nova-conf", cloud.nova_conf, *rows, *options)


@BOTH
@pytest.mark.parametrize("name", FINDINGS)
def test_an_audit_names_what_is_wrong_and_nothing_else(recorded_cloud, name, placement):
    cloud = recorded_cloud(name, placement)
    ran = audit(cloud, "--all")
    rows = ran.json()
    found = {(row["Defect"], row["Subject"]) for row in rows if row["Verdict"] == "finding"}
    assert found == findings(name, placement)
    not_judged = "Not read from Placement: owners" in ran.err
    assert not_judged == (placement == "upstream"), "what is not judged is said"
    unnamed = [row["Evidence"]["reason"] for row in rows if row["Verdict"] == "could not check"]
    assert unnamed == []
    assert [row["Subject"] for row in rows if row["Verdict"] == "left alone"][:1] == [MOVING]
    assert ran.code == (3 if FINDINGS[name] else 0)


@pytest.mark.parametrize(
    ("name", "options", "subjects"),
    [
        ("evacuated", ["--instance", WEB1], {WEB1}),
        ("evacuated", ["--host", "devstack1"], {WEB1, WEB2}),
        ("evacuated", ["--provider", "devstack2"], {WEB1, WEB2}),
        ("evacuated", ["--cell", "cell1"], {WEB1, WEB2}),
        ("evacuated", ["--cell", "cell2"], set()),
        ("missing-and-wrong", ["--host", "devstack3"], {DB1, APP2}),
        ("missing-and-wrong", ["--instance", WEB1, "--consumer", DB1], {WEB1, DB1}),
        ("missing-and-wrong", ["--instance", APP1], {APP1}),
        ("deleted-by-hand", ["--project", PROJECT], {WEB2, DB2}),
        ("deleted-by-hand", ["--project", PROJECT, "--host", "devstack3"], set()),
    ],
)
def test_of_what_is_selected_the_same_is_named(recorded_cloud, name, options, subjects):
    ran = audit(recorded_cloud(name), *options)
    rows = ran.json()
    assert {row["Subject"] for row in rows if row["Verdict"] == "finding"} == subjects
    assert ran.code == (3 if subjects else 0)


@BOTH
def test_of_a_selection_the_owner_is_read_in_every_way(recorded_cloud, placement, tmp_path):
    """And repaired: the amounts stay, and the consumer has no type before and after."""
    cloud = recorded_cloud("missing-and-wrong", placement)
    ran = audit(cloud, "--instance", APP1)
    [row] = ran.json()
    assert (row["Defect"], row["Subject"], ran.code) == ("wrong-owner", APP1, 3)
    assert row["Evidence"]["counted_for"]["project"] == "00000000-0000-0000-0000-000000000000"
    assert row["Evidence"]["should_count_for"]["project"] == PROJECT
    before = placement_json(cloud)["allocations"][APP1]
    path = tmp_path / "plan.json"
    options = ("--instance", APP1, "--interval", "0.01", "--out", path)
    assert trueup("plan", "--nova-conf", cloud.nova_conf, *options).code == 3
    assert trueup("apply", "--nova-conf", cloud.nova_conf, path).code == 0
    after = placement_json(cloud)["allocations"][APP1]
    assert after == before | {"project_id": PROJECT}
    assert audit(cloud, "--instance", APP1).code == 0


@BOTH
@pytest.mark.parametrize("name", [name for name, found in FINDINGS.items() if found])
def test_plan_and_apply_leave_it_clean_and_undo_brings_it_back(
    recorded_cloud, name, placement, tmp_path, monkeypatch
):
    monkeypatch.setenv("TRUEUP_STATE_DIR", str(tmp_path / "state"))
    cloud = recorded_cloud(name, placement)
    before = placement_json(cloud)
    planned = plan(cloud, tmp_path / "plan.json")
    assert planned.code == 3
    assert len(planned.json()) == len(findings(name, placement))
    assert placement_json(cloud) == before, "audit and plan write nothing"

    applied = trueup("apply", "--nova-conf", cloud.nova_conf, tmp_path / "plan.json")
    assert applied.code == 0, applied.err
    assert audit(cloud).code == 0
    again = plan(cloud, tmp_path / "again.json")
    assert (again.code, again.json()) == (0, [])

    [run] = [row["Run"] for row in trueup("journal", "-f", "json").json()]
    undone = trueup("undo", "--nova-conf", cloud.nova_conf, run)
    assert undone.code == 0, undone.err
    assert placement_json(cloud) == before
    assert audit(cloud).code == planned.code


@BOTH
@pytest.mark.parametrize("name", UNTOLD_HOSTS)
def test_a_host_without_a_provider_of_its_own_is_found_and_its_instances_are_not_checked(
    recorded_cloud, name, placement, tmp_path
):
    cloud = recorded_cloud(name, placement)
    ran = audit(cloud)
    found = [row for row in ran.json() if row["Verdict"] == "finding"]
    untold = [row for row in ran.json() if row["Verdict"] == "could not check"]
    assert {
        (row["Defect"], row["Evidence"]["compute_node"]["host"]) for row in found
    } == UNTOLD_HOSTS[name]
    assert {row["Subject"] for row in untold} == {host for _, host in UNTOLD_HOSTS[name]}
    assert all("uuid" in row["Evidence"]["reason"] for row in untold)
    assert len(found) + len(untold) == len(ran.json())
    assert ran.code == 5
    planned = plan(cloud, tmp_path / "plan.json")
    assert (planned.code, planned.json()) == (5, [])


@BOTH
def test_without_neutron_a_missing_allocation_of_a_port_is_only_suspected(
    recorded_cloud, placement, tmp_path
):
    """Nova's own copy of the ports names a provider, and nothing is held of it."""
    cloud = recorded_cloud("port-without-allocation", placement)
    ran = audit(cloud)
    [row] = ran.json()
    assert (ran.code, row["Verdict"]) == (5, "could not check")
    assert "Neutron was not read" in row["Evidence"]["reason"]
    assert plan(cloud, tmp_path / "plan.json").json() == []
