# SPDX-License-Identifier: Apache-2.0
"""`trueup undo` takes a run back."""

import os
from dataclasses import replace

import pytest
from msgspec import structs

from tests.cli.running import trueup
from trueup.reconcile.plan.plan_file import load, save
from trueup.reconcile.runs.journal import Origin
from trueup.reconcile.runs.journals import applying, reopened, runs
from trueup.reconcile.runs.undo import inverse


@pytest.fixture
def run(plan_file) -> str:
    """The name of a run that is finished."""
    assert trueup("apply", plan_file).code == 0
    return f"{load(plan_file).id}-1"


def test_what_a_run_changed_is_given_back(small, plan_file):
    before = small.ledger()
    trueup("apply", plan_file)
    ran = trueup("undo", load(plan_file).id, "-f", "json")
    assert ran.code == 0
    assert [row["Result"] for row in ran.json()] == ["done"] * 4
    assert small.ledger() == before


def test_an_undo_is_a_run_that_says_what_it_undoes(run):
    trueup("undo", run)
    first, second = trueup("journal", "-f", "json").json()
    assert (first["Run"], first["Undoes"]) == (run, "")
    assert second["Undoes"] == run


def test_a_run_is_taken_back_once(small, run):
    trueup("undo", run)
    before = small.rows()
    ran = trueup("undo", run)
    assert ran.code == 0
    assert f"Nothing of run {run} is in place; nothing is written." in ran.err
    assert small.rows() == before


def test_what_an_undo_of_its_undo_did_again_is_in_place_by_that_run(small, run, plan_file, state):
    """The newest state decides: the run to take back is named, and the plan is finished."""
    repaired = small.ledger()
    trueup("undo", run)
    [undo] = [one.run for one in runs(state) if one.plan.undoes == run]
    assert trueup("undo", undo).code == 0
    [again] = [one.run for one in runs(state) if one.plan.undoes == undo]
    ran = trueup("undo", run)
    assert ran.code == 4
    assert f"4 steps of run {run} are in place by run {again}" in ran.err
    assert f"Nothing else of run {run} is in place; nothing is written." in ran.err
    assert small.ledger() == repaired
    ran = trueup("apply", plan_file)
    assert ran.code == 0, ran.err
    assert "was finished before" in ran.err
    assert trueup("undo", again).code == 0
    assert small.ledger() != repaired


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_a_step_that_two_runs_of_a_plan_have_in_place_is_taken_back_in_both(
    small, plan_file, order
):
    """The second run did one step again, and counted the others as done."""
    before, plan = small.ledger(), load(plan_file).id
    trueup("apply", plan_file)
    trueup("undo", f"{plan}-1", "--step", 2)
    assert trueup("apply", plan_file).code == 0
    first, second = (trueup("undo", f"{plan}-{number}", "-f", "json") for number in order)
    if order == (1, 2):
        assert (len(first.json()), len(second.json())) == (3, 1)
        assert f"1 step of run {plan}-1 is in place by run {plan}-2" in first.err
    else:
        assert f"Nothing of run {plan}-1 is in place; nothing is written." in second.err
    assert second.code == 0
    assert small.ledger() == before


def test_an_undo_that_the_plan_did_again_since_is_no_longer_in_place(small, run, plan_file, state):
    trueup("undo", run)
    trueup("apply", plan_file)
    [undo] = [one.run for one in runs(state) if one.plan.undoes == run]
    ran = trueup("undo", undo)
    assert ran.code == 0
    assert f"Nothing of run {undo} is in place; nothing is written." in ran.err
    ran = trueup("undo", run)
    assert ran.code == 4
    assert f"4 steps of run {run} are in place by run {load(plan_file).id}-2" in ran.err


def test_what_a_later_run_counts_as_done_is_taken_back_with_it(small, run, plan_file, state):
    """An undo of an undo put the steps in place, and a run of the plan found them there."""
    repaired = small.ledger()
    trueup("undo", run, "--step", 1)
    [undo] = [one.run for one in runs(state) if one.plan.undoes == run]
    trueup("undo", undo)
    [again] = [one.run for one in runs(state) if one.plan.undoes == undo]
    assert small.ledger() == repaired
    trueup("apply", plan_file)
    assert trueup("undo", load(plan_file).id).code == 0
    for name in (again, run):
        ran = trueup("undo", name)
        assert ran.code == 0, ran.err
        assert f"Nothing of run {name} is in place; nothing is written." in ran.err


def test_a_journal_that_cannot_be_read_may_be_of_an_earlier_undo(run, plan_file, state):
    """Silence would say that there was none."""
    closed = state / "20990101T000000-abcdef01-1.jsonl"
    closed.write_text("garbage\n")
    words = f"Journal {closed.stem} cannot be read: line 1 is damaged"
    for command in (("apply", plan_file), ("undo", run)):
        ran = trueup(*command)
        assert ran.code == 0
        assert words in ran.err
    os.utime(closed, (0, 0))
    assert words not in trueup("undo", run).err, "it was written before the run began"


def test_the_first_apply_of_a_plan_has_no_earlier_undo(plan_file, state):
    state.mkdir()
    (state / "bad.jsonl").write_text("garbage\n")
    assert "Not read" not in trueup("apply", plan_file).err


def test_what_changed_since_is_refused_by_name(small, run):
    released = small.consumer("wrong-provider")
    small.call("DELETE", f"/allocations/{released}")
    ran = trueup("undo", run, "-f", "json")
    assert ran.code == 4
    [refused] = [row for row in ran.json() if row["Result"] == "refused"]
    assert refused["Subject"] == released
    assert refused["Reason"].startswith("its allocations are not what they were")
    assert "PLAN" not in ran.err, "an undo has no plan to make anew"


def test_the_limit_is_for_undo_too(small, run):
    before = small.rows()
    ran = trueup("undo", run, "--limit", 3)
    assert (ran.code, ran.out) == (6, "")
    assert "--limit 4" in ran.err
    assert small.rows() == before


def test_a_run_of_another_cloud_is_refused(small, run):
    small.sql("nova_api", "UPDATE cell_mappings SET uuid = 'another' WHERE name = 'cell2'")
    before = small.rows()
    ran = trueup("undo", run)
    assert (ran.code, ran.out) == (2, "")
    assert "another cloud" in ran.err
    assert small.rows() == before


def test_one_step_is_taken_back(small, run):
    rows = trueup("journal", run, "-f", "json").json()
    ran = trueup("undo", run, "--step", 2, "-f", "json")
    assert [row["Subject"] for row in ran.json()] == [rows[1]["Subject"]]
    again = trueup("journal", run, "-f", "json").json()
    assert [row["Result"] for row in again] == ["done", "taken back", "done", "done"]
    refused = trueup("undo", run, "--step", 2)
    assert (refused.code, refused.out) == (2, "")
    assert f"List its steps with 'trueup journal {run}'" in refused.err


def test_a_write_that_may_still_come_is_told(small, plan_file, state):
    """The run was killed between the intent and the write."""
    plan = load(plan_file)
    with applying(plan, state, Origin()) as journal:
        journal.intend(plan.steps[0])
    ran = trueup("undo", plan.id)
    assert ran.code == 4
    assert f"Step {plan.steps[0].id} was about to be written" in ran.err
    assert f"run 'trueup undo {plan.id}' again" in ran.err
    assert f"Nothing of run {plan.id} is in place so far; nothing is written." in ran.err


def test_a_step_that_was_written_in_part_is_taken_back_in_table_and_journal(
    small, plan_file, tmp_path, state
):
    """Its run was killed between its two writes."""
    plan, path, before = load(plan_file), tmp_path / "one.json", small.ledger()
    first, second, *_ = plan.steps
    merged = structs.replace(first, changes=first.changes + second.changes)
    save(replace(plan, steps=(merged,)), path)
    plan = load(path)
    with applying(plan, state, Origin()) as journal:
        journal.intend(merged)
    small.write(first)
    ran = trueup("undo", plan.id, "-f", "json")
    assert ran.code == 0
    [row] = ran.json()
    words = "interrupted; what was written of it is taken back"
    assert (row["Result"], row["Reason"]) == ("done", words)
    assert f"Step {merged.id} was written in part: {words}." in ran.err
    assert "nothing is written" not in ran.err
    [kept] = trueup("journal", plan.id, "-f", "json").json()
    assert (kept["Result"], kept["Reason"]) == ("refused", words)
    assert small.ledger() == before


def test_what_may_still_come_counts_beside_what_was_taken_back(small, plan_file, state):
    plan = load(plan_file)
    first, second, *_ = plan.steps
    with applying(plan, state, Origin()) as journal:
        for step in (first, second):
            journal.intend(step)
    small.write(first)
    ran = trueup("undo", plan.id, "-f", "json")
    assert [row["Result"] for row in ran.json()] == ["done"]
    assert ran.code == 4
    assert f"Step {second.id} was about to be written" in ran.err


def test_what_an_earlier_undo_may_still_take_back_is_told(run, state):
    """That undo was killed between its intent and its write; this one is of another step."""
    with reopened(run, state) as original:
        back = inverse(original)
    [one, another, *_] = back.steps
    with applying(back, state, Origin()) as journal:
        journal.intend(one)
    ran = trueup("undo", run, "--step", another.id)
    assert ran.code == 4
    assert f"Step {one.id} was about to be taken back by run {journal.run}" in ran.err
    assert f"run 'trueup undo {run}' again in two minutes" in ran.err
    ran = trueup("undo", run)
    assert ran.code == 0, "what it takes back now, that undo no longer can"


def test_what_may_be_somebody_elses_work_is_left_in_place_and_told(small, plan_file, state):
    before, plan = small.ledger(), load(plan_file)
    first, *_ = plan.steps
    trueup("apply", plan_file)
    with reopened(plan.id, state) as journal:
        journal.record(replace(journal.outcome_of(first), contested=True))
    ran = trueup("undo", plan.id, "-f", "json")
    assert ran.code == 4
    assert [row["Result"] for row in ran.json()] == ["done"] * 3
    assert f"Step {first.id} is left in place: it may be somebody else's work." in ran.err
    ran = trueup("undo", plan.id)
    assert ran.code == 4
    assert f"Nothing else of run {plan.id} is in place; nothing is written." in ran.err
    assert trueup("undo", plan.id, "--step", first.id).code == 0
    assert small.ledger() == before
    assert trueup("undo", plan.id).code == 0
