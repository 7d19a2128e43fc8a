# SPDX-License-Identifier: Apache-2.0
"""The whole pipeline on the databases of a real OpenStack, with the ports of its Neutron.

Placement is real, and what is written to it; the ports are a real Neutron's, in a small stand-in.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import trueup
from tests.clouds import damage
from tests.clouds.cloud import RecordedCloud
from tests.clouds.ledger import placement_json
from tests.clouds.neutron import Neutron, recorded_neutron
from tests.reconcile.test_recorded_clouds import FINDINGS, WEB1, audit, plan

QOS1 = "cb1971ce-dab0-4fa1-98f7-d0a30980eb0f"
PORT = "32fa3adb-101b-4cd6-bb64-ea677cbc6dd5"
GROUP = "4ca840de-ec24-5cbb-b160-e8841b56fc05"
NIC = "f94dacca-2dc0-42d5-933e-63d17c2f75cb"
# The ports of qos1 were recorded without the provider in their profiles, also where it is held.
WITH_PORTS = {
    "healthy": set(),
    "port-without-allocation": {("missing-port-allocation", QOS1)},
    "evacuated": FINDINGS["evacuated"] | {("port-binding-mismatch", QOS1)},
    "deleted-by-hand": FINDINGS["deleted-by-hand"],
    "every-kind": set(),
}


def found(cloud: RecordedCloud) -> set[tuple[str, str]]:
    rows = audit(cloud, "--all").json()
    return {(row["Defect"], row["Subject"]) for row in rows if row["Verdict"] == "finding"}


def applied(cloud: RecordedCloud, path: Path) -> Any:
    assert plan(cloud, path).code == 3
    return trueup("apply", "--nova-conf", cloud.nova_conf, "-f", "json", path)


@pytest.fixture
def state(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("TRUEUP_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "plan.json"


@pytest.mark.parametrize("name", WITH_PORTS)
def test_what_is_wrong_with_ports_is_found_and_nothing_else(recorded_cloud, name):
    cloud = recorded_cloud(name)
    with recorded_neutron(name, cloud.nova_conf):
        assert found(cloud) == WITH_PORTS[name]


@pytest.mark.parametrize("selected", [(), ("--instance", QOS1)])
def test_a_port_that_only_nova_knows_is_not_taken_for_leaked(recorded_cloud, selected, state):
    """Its profile names no provider, so Nova's network cache has none either."""
    cloud = recorded_cloud("healthy", own_cells=True)
    lost = "network_info = REPLACE(network_info, 'allocation', 'lost')"
    damage.change_cell(cloud, "cell1", f"UPDATE instance_info_caches SET {lost}")
    with recorded_neutron(cloud.name, cloud.nova_conf) as neutron:
        del neutron.ports[PORT]
        ran = audit(cloud, *selected)
        [row] = ran.json()
        assert (row["Verdict"], row["Subject"], ran.code) == ("could not check", QOS1, 5)
        assert f"Nova's network cache has port {PORT}" in row["Evidence"]["reason"]
        assert plan(cloud, state, *selected).json() == []


@pytest.mark.parametrize("selected", [(), ("--instance", WEB1)])
def test_a_port_that_neutron_gives_to_its_earlier_server_is_not_claimed(
    recorded_cloud, selected, state
):
    """A selection finds who has it now, though that server is not selected."""
    cloud = recorded_cloud("healthy", own_cells=True)
    cached = json.dumps([{"id": PORT, "profile": {"allocation": {GROUP: NIC}}}])
    of_qos1 = f"UPDATE instance_info_caches SET network_info = '{cached}' WHERE instance_uuid"
    damage.change_cell(cloud, "cell1", f"{of_qos1} = '{QOS1}'")
    with recorded_neutron(cloud.name, cloud.nova_conf) as neutron:
        neutron.ports[PORT]["device_id"] = WEB1
        found = {row["Subject"]: row for row in audit(cloud, *selected).json()}
        assert found[WEB1]["Verdict"] == "could not check"
        assert f"port {PORT} holds resources for instance" in found[WEB1]["Evidence"]["reason"]
        assert plan(cloud, state, *selected).json() == []


@pytest.mark.parametrize("placement", ["upstream", "trueup"])
@pytest.mark.parametrize("name", ["port-without-allocation", "evacuated"])
def test_claim_and_profile_are_repaired_and_undone_together(recorded_cloud, name, placement, state):
    cloud = recorded_cloud(name, placement)
    with recorded_neutron(name, cloud.nova_conf) as neutron:
        ledger, profiles = placement_json(cloud), copy.deepcopy(neutron.profiles())
        assert profiles[PORT] == {}
        assert applied(cloud, state).code == 0
        assert neutron.profiles()[PORT] == {"allocation": {GROUP: NIC}}
        assert audit(cloud).code == 0
        [run] = [row["Run"] for row in trueup("journal", "-f", "json").json()]
        undone = trueup("undo", "--nova-conf", cloud.nova_conf, run)
        assert undone.code == 0, undone.err
        assert placement_json(cloud) == ledger
        assert neutron.profiles() == profiles


def with_second_port(neutron: Neutron) -> str:
    """Another port of qos1 that requests bandwidth of the same provider."""
    second = copy.deepcopy(neutron.ports[PORT])
    second["id"] = f"f{PORT[1:]}"
    second["resource_request"]["request_groups"][0]["id"] = f"f{GROUP[1:]}"
    second["resource_request"]["same_subtree"] = [f"f{GROUP[1:]}"]
    neutron.ports[second["id"]] = second
    return second["id"]


def test_when_neutron_refuses_the_second_port_the_claim_and_the_first_are_taken_back(
    recorded_cloud, state
):
    cloud = recorded_cloud("port-without-allocation")
    with recorded_neutron(cloud.name, cloud.nova_conf) as neutron:
        neutron.refusing.add(with_second_port(neutron))
        ledger, profiles = placement_json(cloud), copy.deepcopy(neutron.profiles())
        ran = applied(cloud, state)
        assert ran.code == 4
        [row] = ran.json()
        assert "the database is read-only" in str(row)
        assert neutron.profiles() == profiles
        assert neutron.ports[PORT]["revision_number"] == 9, "it was written, and taken back"
        assert placement_json(cloud) == ledger
        [shown] = trueup("journal", "-f", "json").json()
        assert (shown["Done"], shown["Refused"]) == (0, 1)


def test_a_port_that_was_written_meanwhile_is_not_written_over(recorded_cloud, state):
    cloud = recorded_cloud("port-without-allocation")
    with recorded_neutron(cloud.name, cloud.nova_conf) as neutron:
        ledger = placement_json(cloud)
        assert plan(cloud, state).code == 3
        neutron.ports[PORT] |= {"binding:profile": {"of": "somebody"}, "revision_number": 8}
        ran = trueup("apply", "--nova-conf", cloud.nova_conf, state)
        assert ran.code == 4
        assert neutron.profiles()[PORT] == {"of": "somebody"}
        assert placement_json(cloud) == ledger


def test_one_selected_instance_is_told_the_same_of(recorded_cloud):
    cloud = recorded_cloud("port-without-allocation")
    with recorded_neutron(cloud.name, cloud.nova_conf):
        rows = audit(cloud, "--instance", QOS1).json()
        assert [row["Defect"] for row in rows] == ["missing-port-allocation"]
        assert audit(cloud, "--instance", WEB1).json() == []


@pytest.mark.parametrize("name", ["port-without-allocation", "evacuated"])
def test_what_is_written_to_ports_is_rehearsed(recorded_cloud, name, state):
    cloud = recorded_cloud(name)
    with recorded_neutron(name, cloud.nova_conf) as neutron:
        assert plan(cloud, state).code == 3
        ledger, profiles = placement_json(cloud), copy.deepcopy(neutron.profiles())
        ran = trueup("rehearse", "--nova-conf", cloud.nova_conf, state)
        assert ran.code == 0, ran.out + ran.err
        assert (placement_json(cloud), neutron.profiles()) == (ledger, profiles)


def test_without_neutron_what_is_written_to_ports_is_not_rehearsed_and_told(recorded_cloud, state):
    cloud = recorded_cloud("evacuated")
    with recorded_neutron(cloud.name, cloud.nova_conf):
        assert plan(cloud, state).code == 3
    ran = trueup("rehearse", "--nova-conf", cloud.nova_conf, state, "-f", "json")
    assert ran.code == 5, ran.out + ran.err
    results = [row["Result"] for row in ran.json()]
    assert "not rehearsed: a rehearsal has no copy of the binding profile and revision" in results
    assert "not judged: port-binding-mismatch" in results
    assert "done" in results
    assert "Not rehearsed: 1 step; the reasons are in the table." in ran.err
