# SPDX-License-Identifier: Apache-2.0
"""`trueup journal` looks at journals; it needs no cloud."""

from tests.cli.running import trueup
from tests.reconcile.planning import planned
from trueup.reconcile.reasons import because
from trueup.reconcile.runs.journal import Origin, Outcome
from trueup.reconcile.runs.journals import applying


def test_without_runs_it_is_empty(state):
    ran = trueup("journal", "-f", "json")
    assert (ran.code, ran.json()) == (0, [])
    assert f"There is no run in {state}." in ran.err
    assert not state.exists(), "looking makes nothing"


def test_that_there_is_no_journal_is_no_proof_that_journals_are_whole(state):
    ran = trueup("journal", "--verify", "-f", "json")
    assert (ran.code, ran.json()) == (0, [])
    assert f"There is no run in {state}." in ran.err


def test_runs_are_listed_and_one_is_shown(state):
    plan = planned()
    first, second, third = plan.steps
    with applying(plan, state, Origin()) as journal:
        journal.record(Outcome(first.id, "done"))
        journal.record(Outcome(second.id, "refused", because("answer", words="it moved")))
    [row] = trueup("journal", "-f", "json").json()
    assert (row["Run"], row["Done"], row["Refused"], row["Open"]) == (f"{plan.id}-1", 1, 1, 1)
    rows = trueup("journal", plan.id, "-f", "json").json()
    assert [(row["Subject"], row["Result"], row["Reason"]) for row in rows] == [
        (first.consumers[0], "done", ""),
        (second.consumers[0], "refused", "it moved"),
        (third.consumers[0], "open", ""),
    ]


def test_the_folder_may_be_named(tmp_path):
    with applying(planned(), tmp_path / "other", Origin()):
        pass
    assert trueup("journal", "-f", "json").json() == []
    assert len(trueup("journal", "--state-dir", tmp_path / "other", "-f", "json").json()) == 1


def test_a_run_that_is_not_there_is_refused_by_name():
    ran = trueup("journal", "nosuch")
    assert (ran.code, ran.out) == (2, "")
    assert "no run 'nosuch'" in ran.err


def test_a_damaged_journal_is_named(state):
    with applying(planned(), state, Origin()) as journal:
        path = state / f"{journal.run}.jsonl"
    path.write_bytes(path.read_bytes() + b"{}\n")
    ran = trueup("journal", path.stem)
    assert (ran.code, ran.out) == (2, "")
    assert f"line 2 of {path} is damaged" in ran.err


def test_one_damaged_journal_does_not_hide_the_others(state):
    with applying(planned(), state, Origin()) as journal:
        run = journal.run
    (state / "bad.jsonl").write_text("nonsense\n")
    ran = trueup("journal", "-f", "json")
    assert [row["Run"] for row in ran.json()] == [run, "bad"]
    assert "line 1 is damaged" in ran.json()[1]["Note"]
