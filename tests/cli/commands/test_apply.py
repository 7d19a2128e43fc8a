# SPDX-License-Identifier: Apache-2.0
"""`trueup apply` writes a plan, and says how to take it back. What guards it: tests/reconcile."""

import pytest

from tests.cli.on_terminal import at_a_terminal
from tests.cli.running import trueup
from trueup.reconcile.plan.plan_file import load
from trueup.reconcile.runs.journal import Origin
from trueup.reconcile.runs.journals import applying, runs


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
    assert refused["Reason"] == "the instance's task state was none, it is migrating"
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


def test_what_was_refused_is_planned_again_and_applied(small, plan_file):
    """A write of somebody else moved its generation: nothing is wrong with the finding."""
    consumer = small.consumer("wrong-provider")
    holding = small.holding(consumer)
    rows = holding["allocations"].items()
    body = {name: holding[name] for name in ("project_id", "user_id", "consumer_generation")}
    body["allocations"] = {uuid: {"resources": row["resources"]} for uuid, row in rows}
    assert small.call("PUT", f"/allocations/{consumer}", body).status_code == 204
    ran = trueup("apply", plan_file, "--replan", 0.01, "-f", "json")
    assert ran.code == 0
    assert sorted(row["Result"] for row in ran.json()) == ["done"] * 4 + ["refused"]
    assert "1 step for 1 finding." in ran.err
    assert small.plan().steps == ()


def test_what_is_refused_and_not_planned_again_is_not_forgotten(small, plan_file):
    small.change_instance("wrong-provider", task_state="migrating")
    small.change_instance("missing-allocation", updated_at="2020-01-01 12:00:00")
    ran = trueup("apply", plan_file, "--replan", 0.01, "-f", "json")
    assert sorted(row["Result"] for row in ran.json()) == ["done"] * 3 + ["refused"] * 2
    assert "1 step for 1 finding." in ran.err
    assert ran.code == 4


def test_steps_are_written_side_by_side(small, plan_file):
    ran = trueup("apply", plan_file, "--concurrency", 4, "--rate", 1000, "-f", "json")
    assert ran.code == 0
    assert [row["Result"] for row in ran.json()] == ["done"] * 4
    assert small.plan().steps == ()


@pytest.mark.parametrize(
    ("words", "typed", "written"),
    [([], "y\n", True), ([], "\n", False), ([], "no\n", False), (["--yes"], "", True)],
)
def test_at_a_terminal_it_asks_once(small, plan_file, words, typed, written):
    before = small.rows()
    code, shown = at_a_terminal("apply", plan_file, *words, typed=typed)
    assert (code == 0) is written, shown
    assert ("Write 4 steps that touch 4 subjects to http" in shown) is (words == [])
    if not written:
        assert code == 2
        assert "nothing is written" in shown
        assert small.rows() == before
