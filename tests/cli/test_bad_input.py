# SPDX-License-Identifier: Apache-2.0
"""Bad input: one clear line that says what and what to do, the documented code, nothing written."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.running import ROWS, Ran, trueup
from tests.clouds import damage
from tests.clouds.ledger import placement_json


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("TRUEUP_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def cloud(recorded_cloud):
    return recorded_cloud("deleted-by-hand", "trueup")


@pytest.fixture
def plan_file(cloud, tmp_path) -> Path:
    path = tmp_path / "plan.json"
    ran = trueup("plan", "--nova-conf", cloud.nova_conf, "--interval", 0.01, "--out", path)
    assert ran.code == 3
    return path


def refused(ran: Ran, code: int, *words: str) -> None:
    """One line on standard error, and nothing on standard output."""
    assert ran.code == code, ran.err
    assert ran.out == ""
    [line] = [line for line in ran.err.splitlines() if line.startswith("trueup:")]
    assert "Traceback" not in ran.err
    for word in words:
        assert word in line


def nova_conf(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "other-nova.conf"
    path.write_text(text)
    return path


def changed(cloud, tmp_path: Path, pattern: str, replacement: str) -> Path:
    return nova_conf(tmp_path, re.sub(pattern, replacement, cloud.nova_conf.read_text()))


@pytest.mark.parametrize("verb", ["audit", "plan"])
def test_the_api_database_does_not_answer(cloud, tmp_path, verb):
    conf = changed(cloud, tmp_path, r"@[^/]*/", "@127.0.0.1:1/")
    ran = trueup(verb, "--nova-conf", conf)
    refused(ran, 5, "Nova's API database does not answer", "Connection refused", "try again")


def test_the_api_database_refuses_the_password(cloud, tmp_path):
    conf = changed(cloud, tmp_path, r"(connection = .*):[^@/]*@", r"\1:wrong@")
    ran = trueup("audit", "--nova-conf", conf)
    refused(ran, 5, "Nova's API database refuses the login", "Access denied", "the password")


@pytest.mark.parametrize("verb", ["audit", "plan"])
def test_placement_does_not_answer(cloud, verb):
    damage.stop_placement(cloud)
    ran = trueup(verb, "--nova-conf", cloud.nova_conf)
    refused(ran, 5, "Placement does not answer", "try again")


def test_placement_refuses_the_credentials(cloud, tmp_path):
    conf = changed(cloud, tmp_path, "token = .*", "token = somebody")
    refused(trueup("audit", "--nova-conf", conf), 5, "Placement refuses", "admin role")


def test_what_answers_is_not_placement(cloud, tmp_path):
    conf = changed(cloud, tmp_path, r"(endpoint\w* = http://[^/\n]*).*", r"\1/resource_classes")
    ran = trueup("audit", "--nova-conf", conf)
    refused(ran, 5, "Placement")


def test_a_cell_does_not_answer(cloud, tmp_path):
    with damage.unreachable_cell(cloud, "cell2"):
        ran = trueup("audit", "--nova-conf", cloud.nova_conf, *ROWS)
        planned = trueup("plan", "--nova-conf", cloud.nova_conf, "--interval", 0.01, "-f", "json")
    assert ran.code == 5
    assert "Did not answer: cell2" in ran.err
    # What hangs is left alone: the services of this cloud reported when it was built.
    assert {row["Verdict"] for row in ran.json()} - {"left alone"} == {"could not check"}
    assert "cell2" in {row["Subject"] for row in ran.json()}
    assert (planned.code, planned.json()) == (5, []), "a silent cell may know better"


@pytest.mark.parametrize("cell", ["cell1", "cell2"])
def test_a_cell_falls_silent_before_apply(cloud, plan_file, cell):
    """Also a cell that has none of the instances of the plan: it may have one of them by now."""
    before = placement_json(cloud)
    with damage.unreachable_cell(cloud, cell):
        ran = trueup("apply", "--nova-conf", cloud.nova_conf, plan_file)
    refused(ran, 5, f"{cell} does not answer")
    assert placement_json(cloud) == before


def test_placement_falls_silent_before_apply(cloud, plan_file, state):
    damage.stop_placement(cloud)
    ran = trueup("apply", "--nova-conf", cloud.nova_conf, plan_file)
    refused(ran, 5, "Placement does not answer")
    assert not list(state.glob("*")), "no run was begun"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"VCPU": 1', '"VCPU": 2'),
        ('"deleted": true', '"deleted": false'),
        ('"digest": "', '"digest": "0'),
    ],
)
def test_the_plan_was_edited(cloud, plan_file, old, new):
    before = placement_json(cloud)
    text = plan_file.read_text()
    assert old in text
    plan_file.write_text(text.replace(old, new, 1))
    ran = trueup("apply", "--nova-conf", cloud.nova_conf, plan_file)
    refused(ran, 2, "was changed after it was made", "trueup plan --out")
    assert placement_json(cloud) == before


def test_the_plan_is_not_a_plan(cloud, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text("nonsense")
    ran = trueup("apply", "--nova-conf", cloud.nova_conf, path)
    refused(ran, 2, "cannot be used", "trueup plan --out")


def test_the_plan_is_too_old(cloud, plan_file):
    before = placement_json(cloud)
    ran = trueup("apply", "--nova-conf", cloud.nova_conf, plan_file, "--max-age", 0)
    refused(ran, 2, "the plan is stale", "--max-age")
    assert placement_json(cloud) == before


def test_the_plan_is_for_another_cloud(cloud, plan_file):
    before = placement_json(cloud)
    damage.execute(
        cloud.nova_api_url,
        "UPDATE cell_mappings SET uuid='11111111-2222-4333-8444-555555555555' WHERE name='cell2'",
    )
    ran = trueup("apply", "--nova-conf", cloud.nova_conf, plan_file)
    refused(ran, 2, "another cloud", "--nova-conf")
    assert placement_json(cloud) == before


def test_what_moved_since_the_plan_is_refused_by_name(recorded_cloud, tmp_path):
    cloud = recorded_cloud("deleted-by-hand", "trueup", own_cells=True)
    path = tmp_path / "plan.json"
    trueup("plan", "--nova-conf", cloud.nova_conf, "--interval", 0.01, "--out", path)
    before = placement_json(cloud)
    damage.change_cell(
        cloud,
        "cell1",
        "UPDATE instances SET deleted = 0, vm_state = 'active' WHERE deleted != 0",
    )
    ran = trueup("apply", "--nova-conf", cloud.nova_conf, path, "-f", "json")
    assert ran.code == 4
    assert {row["Result"] for row in ran.json()} == {"refused"}
    assert all("the instance is back" in row["Reason"] for row in ran.json())
    assert placement_json(cloud) == before


def test_the_plan_is_larger_than_the_limit(cloud, plan_file):
    before = placement_json(cloud)
    ran = trueup("apply", "--nova-conf", cloud.nova_conf, plan_file, "--limit", 1)
    refused(ran, 6, "touches 2 subjects, and the limit is 1", "--limit 2")
    assert placement_json(cloud) == before
    assert trueup("apply", "--nova-conf", cloud.nova_conf, plan_file, "--limit", 2).code == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ("no option 'connection' in [api_database]",)),
        ("[api_database]\nconnection = {api}\n", ("no option 'auth_type' in [placement]",)),
        ("[api_database]\nconnection = not a url\n[placement]\nauth_type = none\n",
         ("it is not DRIVER://",)),
        ("[api_database]\nconnection = nosuch://host/nova\n[placement]\nauth_type = none\n"
         "endpoint = http://127.0.0.1:1\n", ("Nova's API database cannot be opened",)),
        ("[api_database]\nconnection = {api}\n[placement]\nauth_type = nosuch\n",
         ("nosuch",)),
        ("no section at all\n", ("cannot be used",)),
    ],
)  # fmt: skip
def test_nova_conf_lacks_what_is_needed(cloud, tmp_path, text, words):
    conf = nova_conf(tmp_path, text.replace("{api}", cloud.nova_api_url))
    ran = trueup("audit", "--nova-conf", conf)
    refused(ran, 2, *words)


def test_nova_conf_is_not_there(tmp_path):
    ran = trueup("audit", "--nova-conf", tmp_path / "none.conf")
    refused(ran, 2, "none.conf", "--nova-conf")


def test_the_run_is_not_known(cloud):
    ran = trueup("undo", "--nova-conf", cloud.nova_conf, "20260101T000000-abcdef01")
    refused(ran, 2, "no run '20260101T000000-abcdef01'", "trueup journal")


def test_the_run_is_not_a_name_but_a_path(cloud, tmp_path):
    (tmp_path / "elsewhere.jsonl").write_text("{}\n")
    ran = trueup("undo", "--nova-conf", cloud.nova_conf, "../elsewhere")
    refused(ran, 2, "no run")


def test_the_journal_cannot_be_written(cloud, plan_file, tmp_path):
    (tmp_path / "a-file").write_text("")
    before = placement_json(cloud)
    ran = trueup(
        "apply",
        "--nova-conf",
        cloud.nova_conf,
        plan_file,
        "--state-dir",
        tmp_path / "a-file" / "below",
    )
    refused(ran, 2, "journal cannot be written", "--state-dir")
    assert placement_json(cloud) == before


def test_the_plan_cannot_be_written(cloud, tmp_path):
    ran = trueup(
        "plan",
        "--nova-conf",
        cloud.nova_conf,
        "--out",
        tmp_path / "none" / "plan.json",
    )
    refused(ran, 2, "plan.json cannot be written", "Name a file in a folder that you can write to")


def test_a_microversion_that_is_too_old(cloud, tmp_path, old_placement):
    conf = changed(cloud, tmp_path, r"endpoint(\w*) = .*", rf"endpoint\1 = {old_placement}")
    ran = trueup("audit", "--nova-conf", conf)
    refused(ran, 5, "up to 1.27", "1.28 is needed", "Rocky")


@pytest.fixture
def old_placement():
    """The version document of a Placement of Queens; nothing else of it is ever asked."""
    from trueup.lab.serving import serve

    def application(environ, start_response):
        body = json.dumps(
            {"versions": [{"id": "v1.0", "max_version": "1.27", "min_version": "1.0"}]}
        )
        start_response(
            "200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        )
        return [body.encode()]

    with serve(application) as url:
        yield url
