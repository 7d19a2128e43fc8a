# SPDX-License-Identifier: Apache-2.0
"""A run leaves the machine: messages to sinks while it runs, and a signature at its end."""

import json
from pathlib import Path

import pytest

from tests.cli.running import trueup
from tests.cli.sent import messages
from tests.cli.signers import new_key
from tests.reconcile.sinks.receivers import Posted, web_server
from trueup.reconcile import changes
from trueup.reconcile.changes import Reply
from trueup.reconcile.runs.journals import runs


@pytest.fixture
def key(tmp_path) -> Path:
    return new_key(tmp_path / "key")


def test_a_run_is_told_step_by_step(small, plan_file, tmp_path, state):
    small.change_instance("wrong-provider", task_state="migrating")
    ran = trueup("apply", plan_file, "--no-verify", "--send-to", f"file:{tmp_path}/sent")
    assert ran.code == 4
    began, *steps, ended = messages(tmp_path / "sent")
    assert (began["event"], began["steps"], began["undoes"]) == ("run-began", 4, None)
    assert sorted(step["result"] for step in steps) == ["done", "done", "done", "refused"]
    [refused] = [step for step in steps if step["result"] == "refused"]
    assert refused["reason"] == "the instance's task state was none, it is migrating"
    assert (ended["event"], ended["done"], ended["refused"]) == ("run-ended", 3, 1)
    back = f"trueup undo {ended['run']} --state-dir {state}"
    assert {"to": "take it back", "command": back} in ended["next"]
    assert trueup("undo", ended["run"], "--send-to", f"file:{tmp_path}/undo").code == 0
    began, *_, ended = messages(tmp_path / "undo")
    assert began["undoes"] == ended["undoes"] == refused["run"]


def test_a_run_that_stops_is_told_with_why(plan_file, tmp_path, monkeypatch):
    monkeypatch.setenv("TRUEUP_SEND_TO", f"file:{tmp_path}/sent")
    monkeypatch.setattr(changes, "write", lambda *_: Reply(0))
    monkeypatch.setattr("trueup.reconcile.runs.journal.Journal.record", _full)
    assert trueup("apply", plan_file).code != 0
    *_, ended = messages(tmp_path / "sent")
    assert (ended["event"], ended["stopped"], ended["done"]) == ("run-ended", "RuntimeError", 0)


def _full(*_: object) -> None:
    raise RuntimeError


def test_a_lost_sink_is_said_and_stops_nothing(plan_file, state):
    with web_server(Posted()) as port:
        pass
    ran = trueup("apply", plan_file, "--quiet", "--send-to", f"http://127.0.0.1:{port}/token")
    assert ran.code == 0
    [journal] = runs(state)
    assert f"6 of 6 messages about run {journal.run} did not reach http://127.0.0.1:" in ran.err
    assert "token" not in ran.err
    posted = Posted()
    with web_server(posted) as port:
        trueup("journal", journal.run, "--send-to", f"http://127.0.0.1:{port}/token")
    assert [json.loads(body)["event"] for body in posted.bodies] == [
        "run-began",
        *["step-ended"] * 4,
        "run-ended",
    ]


def test_what_names_no_sink_is_refused_before_anything_is_written(small, plan_file, state):
    ran = trueup("apply", plan_file, "--send-to", "syslog:")
    assert (ran.code, "it names no host" in ran.err) == (2, True)
    assert runs(state) == ()


def test_a_run_is_signed_and_proven(plan_file, state, key, tmp_path):
    sent = f"file:{tmp_path}/sent"
    trueup("apply", plan_file, "--no-verify", "--sign-with", key, "--send-to", sent)
    signers = tmp_path / "signers"
    signers.write_text(f"controller {key.with_suffix('.pub').read_text()}")
    words = ("journal", "--verify", "--signers", signers, "--received", tmp_path / "sent")
    ran = trueup(*words, "-f", "json")
    [row] = ran.json()
    assert (ran.code, row["Whole"], row["Signed by"]) == (0, "yes", "controller")
    assert row["Signed lines"] == row["Sent lines"] == row["Lines"]
    [path] = state.glob("*.jsonl")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    ran = trueup(*words, path.stem, "-f", "json")
    assert (ran.code, ran.json()[0]["Whole"]) == (3, "no")


def test_a_run_that_nobody_signed_is_a_failure_where_that_is_demanded(plan_file, key, tmp_path):
    signers, sent = tmp_path / "signers", tmp_path / "sent"
    signers.write_text(f"controller {key.with_suffix('.pub').read_text()}")
    trueup("apply", plan_file, "--no-verify", "--sign-with", key, "--send-to", f"file:{sent}")
    words = ("journal", "--verify", "--signers", signers, "--received", sent)
    words = (*words, "--signed", "--sent", "-f", "json")
    [row] = trueup(*words).json()
    assert (row["Whole"], row["Note"], trueup(*words).code) == ("yes", "", 0)
    trueup("undo", row["Run"])
    ran = trueup(*words)
    rows = [(row["Whole"], row["Note"]) for row in ran.json()]
    unproven = "nobody has signed it; no message about it has come"
    assert (ran.code, rows) == (3, [("yes", ""), ("yes", unproven)])


def test_a_key_that_cannot_sign_is_said_and_stops_nothing(plan_file, state, tmp_path):
    (tmp_path / "no-key").write_text("no key")
    ran = trueup("apply", plan_file, "--no-verify", "--sign-with", tmp_path / "no-key")
    assert ran.code == 0
    assert "is not signed: " in ran.err
    assert trueup("journal", "--verify").code == 0


def test_a_key_that_is_not_there_is_refused_before_anything_is_written(
    small, plan_file, tmp_path, monkeypatch
):
    before = small.ledger()
    ran = trueup("apply", plan_file, "--sign-with", tmp_path / "nowhere")
    assert (ran.code, small.ledger()) == (2, before)
    monkeypatch.setenv("TRUEUP_SIGN_WITH", str(tmp_path / "nowhere"))
    assert trueup("apply", plan_file).code == 2


@pytest.mark.parametrize(
    "words",
    [
        "--verify --signed",
        "--verify --sent",
        "--signers x",
        "--received x",
        "--send-to x",
        "r --verify --send-to x",
    ],
)
def test_options_that_would_be_ignored_are_refused(words):
    assert trueup("journal", *words.split()).code == 2
