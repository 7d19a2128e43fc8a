# SPDX-License-Identifier: Apache-2.0
"""`trueup apply` writes a plan, and says how to take it back. What guards it: tests/reconcile."""

from tests.cli.running import trueup
from trueup.reconcile.journal import Origin
from trueup.reconcile.journals import applying, runs
from trueup.reconcile.plan_file import load


def test_a_plan_is_written_with_a_journal(small, plan_file, state):
    ran = trueup("apply", plan_file, "-f", "json")
    assert ran.code == 0
    assert {row["Result"] for row in ran.json()} == {"done"}
    [journal] = runs(state)
    assert journal.finished
    assert f"Run {journal.run}: 4 steps done, 0 refused." in ran.err
    assert f"To take it back: trueup undo {journal.run}" in ran.err
    assert small.plan().steps == ()


def test_a_finished_plan_is_not_written_again(small, plan_file):
    trueup("apply", plan_file)
    before = small.rows()
    ran = trueup("apply", plan_file, "-f", "json")
    assert ran.code == 0
    assert "was finished before; nothing is written now" in ran.err
    assert small.rows() == before


def test_refused_steps_give_their_code_and_their_reasons(small, plan_file):
    small.change_instance("wrong-provider", task_state="migrating")
    ran = trueup("apply", plan_file, "-f", "json")
    assert ran.code == 4
    [refused] = [row for row in ran.json() if row["Result"] == "refused"]
    assert refused["Reason"] == "the instance's task_state was None, it is migrating"
    assert "3 steps done, 1 refused" in ran.err


def test_when_all_are_refused_there_is_nothing_to_take_back(small, plan_file):
    for defect in small.planted:
        small.change_instance(defect, host="compute-99")
    ran = trueup("apply", plan_file)
    assert ran.code == 4
    assert "0 steps done, 4 refused" in ran.err
    assert "To take it back" not in ran.err


def test_the_journal_goes_where_it_is_told(plan_file, tmp_path, state):
    assert trueup("apply", plan_file, "--state-dir", tmp_path / "other").code == 0
    assert len(runs(tmp_path / "other")) == 1
    assert runs(state) == ()


def test_a_run_that_another_process_applies_is_left_to_it(small, plan_file, state):
    before = small.rows()
    with applying(load(plan_file), state, Origin()):
        ran = trueup("apply", plan_file)
    assert (ran.code, ran.out) == (2, "")
    assert "is being applied by another process" in ran.err
    assert small.rows() == before


def test_a_raised_age_takes_an_older_plan(plan_file):
    assert trueup("apply", plan_file, "--max-age", 0).code == 2
    assert trueup("apply", plan_file, "--max-age", 0.5).code == 0
