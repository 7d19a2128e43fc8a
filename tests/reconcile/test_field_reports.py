# SPDX-License-Identifier: Apache-2.0
"""What operators reported in public, on the databases of a real OpenStack; see clouds/field."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Ran, trueup
from tests.clouds import reports
from tests.clouds.cloud import RecordedCloud
from tests.reconcile.test_recorded_clouds import WEB2, audit, plan

NEW = "11111111-aaaa-4111-8111-000000000001"
RENAMED = "devstack2.example.com"


def planted(recorded_cloud, name: str) -> RecordedCloud:
    cloud = recorded_cloud("healthy", "trueup", own_cells=True)
    reports.plant(cloud, name)
    return cloud


def reasons(ran: Ran, verdict: str = "could not check") -> dict[str, str]:
    return {
        row["Subject"]: row["Evidence"]["reason"] for row in ran.json() if row["Verdict"] == verdict
    }


def defects(ran: Ran) -> set[tuple[str, str]]:
    return {(row["Defect"], row["Subject"]) for row in ran.json() if row["Verdict"] == "finding"}


def retire(cloud: RecordedCloud, host: str) -> list[dict[str, Any]]:
    ran = trueup("retire", host, "--nova-conf", cloud.nova_conf, "--interval", 0.01, "-f", "json")
    found: list[dict[str, Any]] = ran.json()["checks"]
    return found


def test_a_host_that_became_its_fqdn_is_one_machine(recorded_cloud):
    cloud = planted(recorded_cloud, "04")
    reports.silence(cloud, "cell1", "devstack2")
    ran = audit(cloud)
    assert ran.code == 5
    [first, *_] = reasons(ran).items()
    assert first[0] == "devstack2"
    assert f"it and {RENAMED} are one machine" in first[1]
    assert "host = devstack2" in first[1]
    for host, other in (("devstack2", RENAMED), (RENAMED, "devstack2")):
        checks = retire(cloud, host)
        assert checks[0]["part"] == "machine", checks
        assert other in checks[0]["found"]
        assert "openstack server evacuate `" not in str(checks)
        assert "`openstack server evacuate" not in str(checks)
    told = trueup("rekey", RENAMED, "--nova-conf", cloud.nova_conf, "--interval", 0.01)
    assert "the same machine as devstack2" in " ".join(told.out.split())


def test_a_migration_that_hangs_for_a_day_is_named_with_what_ends_it(recorded_cloud, tmp_path):
    cloud = planted(recorded_cloud, "05")
    ran = audit(cloud)
    assert ran.code == 5
    assert f"UPDATE migrations SET status = 'error' WHERE uuid = '{NEW}'" in reasons(ran)[WEB2]
    assert "1 day ago" in reasons(ran)[WEB2]
    assert plan(cloud, tmp_path / "plan.json").json() == []
    assert audit(cloud, "--stuck-after", "1000000").code == 0


def test_a_mapping_without_a_cell_is_proof(recorded_cloud, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("TRUEUP_STATE_DIR", str(tmp_path / "state"))
    cloud = planted(recorded_cloud, "08")
    row = ("mapping-without-cell", NEW)
    assert (defects(audit(cloud)), audit(cloud).code) == ({("dead-consumer", NEW), row}, 3)
    path = tmp_path / "plan.json"
    assert [one["Subject"] for one in plan(cloud, path).json()] == [NEW]
    assert trueup("apply", "--nova-conf", cloud.nova_conf, path).code == 0
    assert defects(audit(cloud)) == {row}


def test_bare_metal_during_a_fail_over_is_not_over_full(recorded_cloud):
    cloud = planted(recorded_cloud, "10")
    ran = audit(cloud)
    assert defects(ran) == set()
    assert "nova-manage db ironic_compute_node_move" in reasons(ran)[NEW]
    [instance] = [one for one in retire(cloud, "ctl3-ironic") if one["part"] == "instance"]
    assert "nova-manage db ironic_compute_node_move" in instance["then"]
    assert "server evacuate" not in instance["then"]


def test_explain_says_what_plan_says(recorded_cloud, tmp_path):
    cloud = planted(recorded_cloud, "11")
    planned = plan(cloud, tmp_path / "plan.json")
    assert planned.json() == []
    told = trueup("explain", "provider", "devstack2", "--nova-conf", cloud.nova_conf)
    assert "makes this plan" not in told.out
    for words in (planned.err, " ".join(told.out.split())):
        assert "trueup retire devstack2" in words


def test_a_class_that_no_provider_has_is_one_row(recorded_cloud, tmp_path):
    cloud = planted(recorded_cloud, "13")
    ran = audit(cloud)
    assert (defects(ran), ran.code) == (set(), 5)
    assert reasons(ran).keys() == {"CUSTOM_BIGVM"}
    known = tmp_path / "acknowledged.toml"
    known.write_text(
        '[[acknowledged]]\nkind = "unoffered-class"\nname = "CUSTOM_BIGVM"\n'
        'reason = "taken away by nova-bigvm"\nuntil = 2100-01-01\n'
    )
    assert audit(cloud, "--acknowledged", str(known)).code == 0


def test_a_host_that_nova_has_in_capitals_is_one_host(recorded_cloud, tmp_path):
    """Its service, its mapping and its aggregate kept them; MariaDB compares without case."""
    cloud = planted(recorded_cloud, "14")
    assert (audit(cloud).code, audit(cloud).json()) == (0, [])
    assert plan(cloud, tmp_path / "plan.json").json() == []
    small, large = (
        trueup("explain", "host", host, "--nova-conf", cloud.nova_conf)
        for host in ("devstack1", "DevStack1")
    )
    assert (small.code, small.out) == (large.code, large.out)
    assert "It is in host aggregate fast" in small.out


def test_two_mappings_that_lead_to_one_database_are_no_two_cells(recorded_cloud, tmp_path):
    cloud = planted(recorded_cloud, "40")
    ran = audit(cloud)
    assert (defects(ran), reasons(ran).keys(), ran.code) == (set(), {"cell1", "cell2"}, 5)
    assert "one database" in reasons(ran)["cell1"]
    assert plan(cloud, tmp_path / "plan.json").json() == []
    told = trueup("nova-manage", "--config-file", cloud.nova_conf, "placement", "audit")
    assert told.code == 1


@pytest.mark.parametrize("host", ["devstack1", "DevStack1"])
def test_instances_that_name_their_host_in_other_letters_are_on_it(recorded_cloud, tmp_path, host):
    cloud = planted(recorded_cloud, "41")
    assert (audit(cloud).json(), audit(cloud, "--host", host).json()) == ([], [])
    assert plan(cloud, tmp_path / "plan.json").json() == []


def test_a_service_in_other_letters_than_its_node_is_of_one_host(recorded_cloud):
    cloud = planted(recorded_cloud, "42")
    assert audit(cloud).json() == []
    small, large = (retire(cloud, host) for host in ("devstack2", "DevStack2"))
    assert small == large
    assert {"service", "instance"} <= {check["part"] for check in small}
    told = [
        trueup("rekey", host, "--nova-conf", cloud.nova_conf, "--interval", 0.01).out
        for host in ("devstack2", "DevStack2")
    ]
    assert told[0] == told[1]
