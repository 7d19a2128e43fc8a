# SPDX-License-Identifier: Apache-2.0
"""A command that is printed works when it is pasted: it has the options that it needs."""

import argparse
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.running import trueup
from tests.cli.sent import messages
from trueup.cli.terminal.given import complete, remembered


@pytest.fixture
def elsewhere(nova_conf, tmp_path, monkeypatch) -> tuple[object, ...]:
    """Options that name the cloud and the journals, which no variable names."""
    monkeypatch.delenv("TRUEUP_NOVA_CONF", raising=False)
    monkeypatch.setattr("trueup.cli.terminal.options.NOVA_CONF", "/no/nova.conf")
    monkeypatch.chdir(tmp_path)
    return ("--nova-conf", nova_conf, "--state-dir", tmp_path / "a folder")


def pasted(said: str, lead: str) -> list[str]:
    """The command after these words, split as by a shell."""
    [line] = re.findall(rf"{lead}: trueup (.*)", said)
    return shlex.split(line)


def test_what_each_command_says_to_do_next_works_as_it_is(elsewhere, small, tmp_path):
    nova_conf, journals = elsewhere[:2], elsewhere[2:]
    before, policy = small.ledger(), tmp_path / "policy.toml"
    policy.write_text('default = "automatic"')
    ran = trueup("audit", *nova_conf)
    words = [*pasted(ran.err, "Next"), "--interval", 0.01, "--policy", policy]
    ran = trueup(*words)
    apply = pasted(ran.err, "Next")
    assert apply[-2:] == ["--nova-conf", str(nova_conf[1])]
    assert ["--policy", str(policy)] == apply[-4:-2]
    ran = trueup(*apply, *journals, "--limit", 40, "--send-to", f"file:{tmp_path}/sent")
    assert ran.code == 0, ran.err
    [*_, ended] = messages(tmp_path / "sent")
    for row in ended["next"]:
        if row["to"] != "take it back":
            assert trueup(*shlex.split(row["command"])[1:]).code == 0, row
    back = pasted(ran.err, "To take it back")
    assert back[2:4] == ["--state-dir", str(journals[1])]
    assert back[4:6] == ["--limit", "40"]
    assert trueup(*back).code == 0
    assert small.ledger() == before


def test_refused_steps_of_a_part_of_a_plan_are_tried_again_as_it_says(plan_file, elsewhere, small):
    small.change_instance("wrong-provider", task_state="migrating")
    only = ("--only", "wrong-provider", "--only", "orphaned-allocation")
    ran = trueup("apply", plan_file, *elsewhere, *only)
    assert ran.code == 4
    [line] = re.findall(r"To try refused steps again: trueup (.*), or make a new plan", ran.err)
    assert "--only orphaned-allocation --only wrong-provider" in line
    again = trueup(*shlex.split(line), 0.01)
    assert (again.code, "1 finding" in again.err) == (4, True), again.err


def test_a_plan_is_of_what_the_audit_was_of(elsewhere, small, tmp_path):
    """What is acknowledged, or not selected, gets no step."""
    (tmp_path / "known.toml").touch()
    one, muted = small.consumer("missing-allocation"), small.consumer("orphaned-allocation")
    judged = ("--acknowledged", "known.toml", "--grace", 700, "--stuck-after", 9000)
    selected = ("--consumer", one, "--consumer", muted)
    mute = ("--mute", f"orphaned-allocation:{muted}", "--for", "7d", "--reason", "known")
    ran = trueup("audit", *elsewhere[:2], *selected, *judged, *mute, "-f", "json")
    plan = pasted(ran.err, "Next")
    assert [shlex.split(row["command"])[1:] for row in ran.json()["next"]] == [plan]
    assert plan[3:] == [*map(str, (*selected, *judged, *elsewhere[:2]))]
    only = ("--interval", 0.01, "--only", "missing-allocation", "--only-adds")
    ran = trueup(*plan[:1], *plan[3:], *only, "-f", "json")
    assert [row["Subject"] for row in ran.json()] == [one]
    again = pasted(ran.err, "Next")
    assert again[3:8] == ["--interval", "0.01", "--only", "missing-allocation", "--only-adds"]
    assert again[8:] == plan[3:]


def test_a_run_goes_on_and_is_taken_back_as_it_was_to_be_written(plan_file, elsewhere, small):
    """What is to pause, or to go slowly, does so when it is pasted."""
    small.change_instance("wrong-provider", task_state="migrating")
    slowly = ("--concurrency", 2, "--rate", 50.0, "--slow-after", 9.0, "--pause-file", "a pause")
    ran = trueup("apply", plan_file, *elsewhere, *slowly)
    assert ran.code == 4
    [again] = re.findall(r"To try refused steps again: trueup (.*), or make a new plan", ran.err)
    for line in (shlex.split(again), pasted(ran.err, "To take it back")):
        assert [*map(str, slowly)] == line[4:12]
    assert trueup(*pasted(ran.err, "To take it back")).code == 0


def test_a_plan_of_a_snapshot_is_again_of_the_snapshot(elsewhere, tmp_path):
    kept, first = tmp_path / "a cloud", tmp_path / "first"
    trueup("audit", *elsewhere[:2], "--save", first)
    trueup("snapshot", "save", kept, *elsewhere[:2])
    ran = trueup("plan", "--from", kept, "--first", first, "--interval", 0.01)
    assert ran.code == 3, ran.err
    again = pasted(ran.err, "Next")
    assert again[3:7] == ["--from", str(kept), "--first", str(first)]
    assert trueup(*again).code == 3
    # One look is not enough: that plan is of the cloud.
    [line] = re.findall(r"Next, .*: trueup (.*)", trueup("audit", "--from", kept).err)
    assert line == "plan --out plan.json"


def test_passwords_are_not_printed_and_defaults_are_left_out():
    parser = argparse.ArgumentParser()
    for name, action in (("nova_database", "store"), ("nova_api", "store_true")):
        parser.add_argument(f"--{name.replace('_', '-')}", action=action)
    parser.add_argument("--cell-database", action="append", default=[])
    parser.add_argument("--state-dir", type=Path, default=Path("/default"))
    with remembered(parser.parse_args([]), parser):
        assert complete("trueup undo RUN") == "trueup undo RUN"
        assert complete("trueup undo RUN", Path("/x y")) == "trueup undo RUN --state-dir '/x y'"
    given = parser.parse_args(["--nova-database", "mysql://nova:secret@db/nova", "--nova-api"])
    given.cell_database = [("cell1", "mysql://n:s@db/c1"), ("cell2", "sqlite:///c2")]
    with remembered(given, parser):
        assert shlex.split(complete("trueup verify RUN")) == [
            *(
                "trueup",
                "verify",
                "RUN",
                "--nova-database",
                "mysql://nova:***@db/nova",
                "--nova-api",
            ),
            *(
                "--cell-database",
                "cell1=mysql://n:***@db/c1",
                "--cell-database",
                "cell2=sqlite:///c2",
            ),
        ]
        assert complete("trueup journal RUN") == "trueup journal RUN"
