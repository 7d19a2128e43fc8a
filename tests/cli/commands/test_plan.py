# SPDX-License-Identifier: Apache-2.0
"""`trueup plan` looks twice and writes a file, and nothing else."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.cli.running import trueup
from trueup.lab import Drift
from trueup.reconcile.audit import audit_file
from trueup.reconcile.plan.plan_file import load


def consumers(ran) -> set[str]:
    return {row["Subject"] for row in ran.json()}


def test_a_plan_has_a_step_for_each_finding_and_changes_nothing(small, nova_conf, tmp_path):
    before = small.rows()
    path = tmp_path / "plan.json"
    ran = trueup("plan", "--interval", 0.01, "--out", path, "-f", "json")
    assert ran.code == 3
    assert consumers(ran) == {one.consumer_uuid for one in small.planted.values()}
    assert {one for step in load(path).steps for one in step.consumers} == consumers(ran)
    assert f"Next: trueup apply {path}" in ran.err
    assert small.rows() == before


def test_without_a_file_the_plan_is_only_shown(small, nova_conf):
    ran = trueup("plan", "--interval", 0.01)
    assert ran.code == 3
    assert "Next: trueup plan --out plan.json" in ran.err


def test_providers_are_told_by_name(small, nova_conf):
    rows = trueup("plan", "--interval", 0.01, "-f", "json").json()
    names = {row["name"] for row in small.sql("placement", "SELECT name FROM resource_providers")}
    reported = {name for row in rows for side in ("Before", "After") for name in row[side]}
    assert reported
    assert reported <= names


def test_only_what_a_first_look_had_too_is_planned(small, nova_conf, tmp_path):
    look = tmp_path / "look.json"
    trueup("audit", "--save", look)
    gone = small.consumer("orphaned-allocation")
    assert small.call("DELETE", f"/allocations/{gone}").status_code == 204
    neighbour = small.sql(
        "nova_cell1",
        "SELECT uuid FROM instances WHERE deleted = 0 AND vm_state = 'active'"
        " AND task_state IS NULL AND host IS NOT NULL",
    )
    fresh = {row["uuid"] for row in neighbour} - {
        one.consumer_uuid for one in small.planted.values()
    }
    assert small.call("DELETE", f"/allocations/{sorted(fresh)[0]}").status_code == 204
    ran = trueup("plan", "--first", look, "--interval", 0.01, "-f", "json")
    assert consumers(ran) == {one.consumer_uuid for one in small.planted.values()} - {gone}
    assert "4 findings" in ran.err, "the second look has the new one"
    assert "1 finding without a step: the first observation does not have the same" in ran.err


def test_a_first_look_of_long_ago_is_not_waited_for(nova_conf, tmp_path, monkeypatch):
    look = tmp_path / "look.json"
    trueup("audit", "--save", look)
    kept = audit_file.load(look)
    audit_file.save(replace(kept, taken_at=kept.taken_at - timedelta(hours=1)), look)
    ran = trueup("plan", "--first", look, "--interval", 3000, "-f", "json")
    assert ran.code == 3
    assert len(ran.json()) == 4


def test_nothing_wrong_is_nothing_to_wait_for(plan_file, tmp_path):
    assert trueup("apply", plan_file).code == 0
    path = tmp_path / "empty.json"
    ran = trueup("plan", "--interval", 3000, "--out", path, "-f", "json")
    assert (ran.code, ran.json()) == (0, [])
    assert load(path).steps == ()
    assert "Next" not in ran.err


def test_incomplete_evidence_gives_its_code_and_releases_nothing(small, nova_conf):
    (small.folder / "nova_cell0.sqlite").unlink()
    ran = trueup("plan", "--interval", 0.01, "-f", "json")
    assert ran.code == 5
    assert {row["Because"] for row in ran.json()} == {"missing-allocation"}


def test_a_plan_above_the_limit_says_so_beforehand(tmp_path, monkeypatch):
    from trueup import lab

    with lab.small_cloud(tmp_path / "cloud", seed=2, hosts=8, instances=80) as large:
        large.plant(Drift(orphaned=26, evacuated=0, missing=0, misplaced=0, failed=0))
        ran = trueup("plan", "--nova-conf", large.nova_conf, "--interval", 0.01)
    assert ran.code == 3
    assert "more than the limit of 25: apply will need --limit" in ran.err


@pytest.mark.parametrize(("interval", "told"), [(59, True), (60, False)])
def test_an_interval_shorter_than_services_may_be_silent_is_told(
    small, nova_conf, tmp_path, interval, told
):
    look = tmp_path / "look.json"
    trueup("audit", "--save", look)
    kept = audit_file.load(look)
    audit_file.save(replace(kept, taken_at=kept.taken_at - timedelta(hours=1)), look)
    ran = trueup("plan", "--first", look, "--interval", interval)
    assert ran.code == 3
    assert ("service_down_time is 60 s: a database replica that stopped" in ran.err) is told
