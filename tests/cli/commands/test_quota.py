# SPDX-License-Identifier: Apache-2.0
"""trueup quota: from nova.conf, Nova's databases, Placement and Keystone to one table."""

import json

import jsonschema
import pytest

from tests.cli.running import ROOT, trueup
from tests.clouds import keystone
from tests.clouds.answers import replayed
from trueup.exit_codes import ExitCode

SCHEMA = json.loads((ROOT / "docs" / "quota.schema.json").read_text())


@pytest.fixture
def conf(small, nova_conf):
    """`conf(text)`: the small cloud's nova.conf with more sections."""

    def extended(text: str) -> None:
        nova_conf.write_text(nova_conf.read_text() + text)

    return extended


def limits(*words: object) -> dict[tuple[str, str], dict]:
    ran = trueup("quota", "--all", "-f", "json", *words)
    document = ran.json()
    jsonschema.validate(document, SCHEMA)
    return {(row["project"], row["resource"]): row for row in document["limits"]}


def project_of(small, defect: str) -> str:
    cell = f"nova_{small.planted[defect].cell}"
    query = "SELECT project_id FROM instances WHERE uuid = ?"
    return small.sql(cell, query, small.consumer(defect))[0]["project_id"]


def test_what_a_missing_and_a_phantom_claim_change(small, nova_conf):
    database = ("--placement-database", f"sqlite:///{small.folder}/placement.sqlite")
    missing, orphaned = (
        project_of(small, one) for one in ("missing-allocation", "orphaned-allocation")
    )
    every = limits(*database)
    assert [every[missing, one]["limit"] for one in ("instances", "cores", "ram")] == [
        10,
        20,
        51200,
    ]
    assert every[missing, "ram"]["missing"] > 0
    assert every[orphaned, "ram"]["phantom"] > 0
    assert every[orphaned, "ram"]["strangers"] > 0
    one = limits("--project", orphaned, *database)
    assert one == {key: row for key, row in every.items() if key[0] == orphaned}


def test_a_project_that_nothing_has_is_no_project_without_faults(small, nova_conf):
    project = project_of(small, "missing-allocation")
    ran = trueup("quota", "--project", project[:-1])
    assert (ran.code, ran.out) == (ExitCode.USAGE, "")
    assert f"Did you mean {project}" in ran.err
    assert "only by their IDs" in trueup("quota", "--project", "demo").err


def test_what_a_silent_cell_may_know_is_not_said_to_have_no_instance(small, nova_conf):
    database = ("--placement-database", f"sqlite:///{small.folder}/placement.sqlite")
    (small.folder / "nova_cell2.sqlite").unlink()
    assert {row["strangers"] for row in limits(*database).values()} == {None}
    ran = trueup("quota", *database)
    assert ran.code == ExitCode.INCOMPLETE
    assert "all is as it should be" not in ran.err
    assert "since what was read is as it should be: " in ran.err
    ran = trueup("quota", "--project", "demo", *database)
    assert (ran.code, "nothing that was read has the project 'demo'" in ran.err) == (5, True)


def test_over_the_api_placement_is_asked_for_each_project(small_on, monkeypatch):
    small = small_on("upstream")
    monkeypatch.setenv("TRUEUP_NOVA_CONF", str(small.nova_conf))
    by_api = limits()
    database = limits("--placement-database", f"sqlite:///{small.folder}/placement.sqlite")
    assert {row.pop("strangers") for row in by_api.values()} == {None}
    assert all(row.items() <= database[key].items() for key, row in by_api.items())


def test_the_limits_are_novas_or_keystones(small, nova_conf, conf):
    project = project_of(small, "missing-allocation")
    small.sql(
        "nova_api",
        "INSERT INTO quotas (project_id, resource, hard_limit) VALUES (?, 'cores', 0)",
        project,
    )
    cores = limits("--project", project)[project, "cores"]
    assert (cores["limit"], "over" in cores["notes"]) == (0, True)
    answers = keystone.limits({"servers": 0, "class:VCPU": 100}, {(project, "servers"): 50})
    with replayed(answers) as adapter:
        conf(
            "[quota]\ndriver = nova.quota.UnifiedLimitsDriver\n[oslo_limit]\n"
            f"auth_type = admin_token\nendpoint = {adapter.get_endpoint()}/v3\ntoken = t\n"
            f"endpoint_id = {keystone.ENDPOINT}\n"
        )
        ran = trueup("quota", "--project", project)
        unified = limits("--project", project)
    assert "Nova uses Keystone's unified limits" in ran.err
    assert "class:MEMORY_MB has no registered limit: with unified limits, Nova does not" in ran.err
    assert ran.code == ExitCode.FINDINGS
    assert (project, "cores") not in unified
    assert unified[project, "servers"]["limit"] == 50


def test_a_model_that_nova_cannot_use_is_named(small, nova_conf, conf):
    project = project_of(small, "missing-allocation")
    answers = keystone.limits({"servers": 99}, {}, "strict_two_level")
    account = "auth_type = admin_token\ntoken = t\n"
    with replayed(answers) as adapter:
        conf(
            f"[oslo_limit]\n{account}endpoint = {adapter.get_endpoint()}/v3\n"
            f"endpoint_id = {keystone.ENDPOINT}\n"
        )
        ran = trueup("quota", "--project", project, "-f", "json")
        assert ran.json()["enforcement_model"] == "strict_two_level"
        assert "model is strict_two_level: with unified limits, Nova fails" in ran.err
        refused = (403, {"error": {"message": "You are not authorized"}})
        answers[next(key for key in answers if "registered_limits" in key)] = refused
        ran = trueup("quota")
    assert (ran.code, ran.out) == (ExitCode.INCOMPLETE, ""), ran.err
    assert "Keystone" in ran.err


def test_a_nova_whose_configuration_is_not_there_is_refused(small, nova_conf):
    ran = trueup("quota", "--nova-api")
    assert (ran.code, "nova.conf says how Nova counts" in ran.err) == (ExitCode.USAGE, True)
