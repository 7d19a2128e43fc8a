# SPDX-License-Identifier: Apache-2.0
"""Undo is apply of the inverse: it restores what was, and refuses by name what changed since."""

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import pytest
from msgspec import structs

from tests.reconcile.planning import planned
from tests.reconcile.small import Small
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.runs import Chosen, applied, undone
from trueup.reconcile.runs import apply as apply_module
from trueup.reconcile.runs.journal import JournalDamaged, Origin, Outcome
from trueup.reconcile.runs.journals import applying, reopened, runs
from trueup.reconcile.runs.undo import StepUnknown, UndoOpen, inverse
from trueup.reconcile.steps import Step, Version

WRONG, MISSING = "wrong-provider", "missing-allocation"
ORPHANED, RESIDUE = "orphaned-allocation", "evacuation-residue"


def versions_of(step: Step, number: int | None) -> tuple[Version, ...]:
    return (dict.fromkeys(step.consumers, number),)


def undo(small: Small, run: str, *only: str) -> dict[str, Outcome]:
    """Take a run back; the outcome of each consumer's step."""
    with undone(run, small.cloud, small.folder / "journal", Chosen(only)) as found:
        return {step.consumers[0]: outcome for step, outcome in found.outcomes}


def test_the_inverse_swaps_what_is_in_place_last_first(tmp_path):
    plan = planned()
    first, second, third = plan.steps
    with applying(plan, tmp_path, Origin()) as journal:
        journal.record(Outcome(first.id, "done", versions=versions_of(first, None)))
        journal.record(Outcome(second.id, "refused", "it moved"))
        journal.record(Outcome(third.id, "done", versions=versions_of(third, 4)))
        back = inverse(journal)
    assert [step.id for step in back.steps] == [third.id, first.id]
    for step, planned_step in zip(back.steps, (third, first), strict=True):
        [change], [was] = step.changes, planned_step.changes
        assert (change.target, change.before, change.after) == (was.target, was.after, was.before)
    assert [change.version for step in back.steps for change in step.changes] == [
        *versions_of(third, 4),
        *versions_of(first, None),
    ]
    assert back.undoes == journal.run
    assert back.cells == plan.cells


def test_only_the_steps_that_are_named_are_inverted(tmp_path):
    plan = planned()
    with applying(plan, tmp_path, Origin()) as journal:
        for step in plan.steps[:2]:
            journal.record(Outcome(step.id, "done", versions=versions_of(step, 1)))
        ids = [step.id for step in plan.steps]
        assert [step.id for step in inverse(journal, ["2"]).steps] == [ids[1]]
        assert [step.id for step in inverse(journal, [ids[0]]).steps] == [ids[0]]
        for name in ("3", "4", "0", ids[2], "nonsense"):
            with pytest.raises(StepUnknown):
                inverse(journal, [name])


def test_what_a_step_needed_is_taken_back_after_it(tmp_path):
    """A step that is not in place, or not to be taken back, is not waited for."""
    plan = planned()
    first, second, third = plan.steps
    second = structs.replace(second, needs=(first.id,))
    third = structs.replace(third, needs=(first.id, second.id))
    with applying(replace(plan, steps=(first, second, third)), tmp_path, Origin()) as journal:
        for step in journal.plan.steps:
            journal.record(Outcome(step.id, "done", versions=versions_of(step, 1)))
        back = inverse(journal)
        assert [step.id for step in back.steps] == [third.id, second.id, first.id]
        assert [step.needs for step in back.steps] == [(), (third.id,), (second.id, third.id)]
        assert [step.needs for step in inverse(journal, ["1", "3"]).steps] == [(), (third.id,)]
        assert [step.needs for step in inverse(journal, ["1"]).steps] == [()]


def test_an_undo_may_come_long_after(tmp_path):
    """An instance changes all the time."""
    plan = planned()
    with applying(plan, tmp_path, Origin()) as journal:
        for step in plan.steps:
            journal.record(Outcome(step.id, "done", versions=versions_of(step, 1)))
        back = inverse(journal)
    for step, inverted in zip(reversed(plan.steps), back.steps, strict=True):
        assert inverted.guards == (structs.replace(step.guards[0], updated_at=None),)


def test_nothing_done_is_nothing_to_undo(tmp_path):
    with applying(planned(), tmp_path, Origin()) as journal:
        assert inverse(journal).steps == ()


def test_invariant_10_undo_restores_what_was(on_both):
    before, plan = on_both.ledger(), on_both.plan()
    on_both.apply(plan)
    assert on_both.ledger() != before
    outcomes = undo(on_both, plan.id)
    assert [one.result for one in outcomes.values()] == ["done"] * 4
    assert on_both.ledger() == before


def test_one_step_is_undone_and_the_others_stay(small):
    before, plan = small.ledger()["allocations"], small.plan()
    small.apply(plan)
    repaired = small.ledger()["allocations"]
    number = 1 + [step.consumers for step in plan.steps].index((small.consumer(WRONG),))
    assert undo(small, plan.id, str(number)).keys() == {small.consumer(WRONG)}
    after = small.ledger()["allocations"]
    assert after[small.consumer(WRONG)] == before[small.consumer(WRONG)]
    assert after[small.consumer(MISSING)] == repaired[small.consumer(MISSING)]
    assert len(undo(small, plan.id)) == 3
    assert small.ledger()["allocations"] == before


def test_the_same_plan_after_its_undo_does_the_work_again_in_a_run_of_its_own(on_both):
    small = on_both
    before, plan = small.ledger(), small.plan()
    small.apply(plan)
    repaired = small.ledger()
    undo(small, plan.id)
    assert {one.result for one in small.apply(plan).values()} == {"done"}
    assert small.ledger() == repaired
    undo(small, plan.id)
    assert small.ledger() == before
    assert {one.result for one in small.apply(plan).values()} == {"done"}
    names = [one.run for one in runs(small.folder / "journal") if one.plan.undoes is None]
    assert names == [f"{plan.id}-{number}" for number in (1, 2, 3)]


def test_an_undo_is_undone_like_any_run(small):
    plan = small.plan()
    small.apply(plan)
    repaired = small.ledger()
    with undone(plan.id, small.cloud, small.folder / "journal") as found:
        list(found.outcomes)
    assert small.ledger() != repaired
    assert {one.result for one in undo(small, found.name).values()} == {"done"}
    assert small.ledger() == repaired


def test_invariant_10_what_changed_since_is_refused_by_name_and_the_rest_is_undone(small):
    before, plan = small.ledger(), small.plan()
    small.apply(plan)
    released = small.consumer(WRONG)
    assert small.call("DELETE", f"/allocations/{released}").status_code == 204
    small.change_instance(RESIDUE, host="compute-99")
    outcomes = undo(small, plan.id)
    assert in_words(outcomes[released].reason).startswith("its allocations are not what they were")
    assert in_words(outcomes[small.consumer(RESIDUE)].reason).startswith("the instance's host was")
    for defect in (ORPHANED, MISSING):
        assert outcomes[small.consumer(defect)].result == "done"
    after = small.ledger()["allocations"]
    assert after.get(small.consumer(ORPHANED)) == before["allocations"][small.consumer(ORPHANED)]
    assert small.consumer(MISSING) not in after
    assert released not in after


def test_a_consumer_written_since_is_refused_though_it_holds_the_same(small):
    plan = small.plan(WRONG)
    consumer = small.consumer(WRONG)
    [version] = small.apply(plan)[consumer].versions
    was = version[consumer]
    holding = small.holding(consumer)
    body = {name: holding[name] for name in ("project_id", "user_id", "consumer_generation")}
    rows = holding["allocations"].items()
    body["allocations"] = {uuid: {"resources": row["resources"]} for uuid, row in rows}
    put = small.call("PUT", f"/allocations/{consumer}", body)
    assert put.status_code == 204
    [outcome] = undo(small, plan.id).values()
    assert (
        in_words(outcome.reason)
        == f"its allocations were written since: generation {was}, now {was + 1}"
    )


def test_an_instance_that_merely_changed_is_undone(small):
    before, plan = small.ledger(), small.plan(WRONG)
    small.apply(plan)
    small.change_instance(WRONG, updated_at=datetime(2030, 1, 1).isoformat(sep=" "))
    [outcome] = undo(small, plan.id).values()
    assert outcome.result == "done"
    assert small.ledger() == before


@pytest.mark.parametrize("defect", [WRONG, MISSING, ORPHANED, RESIDUE])
def test_a_run_killed_after_its_write_is_undone_too(small, defect):
    before, plan = small.ledger(), small.plan(defect)
    [step] = plan.steps
    with small.journal(plan) as journal:
        journal.intend(step)
        small.write(step)
    [outcome] = undo(small, plan.id).values()
    assert outcome.result == "done"
    assert small.ledger() == before


def test_a_write_that_comes_after_the_first_undo_is_undone_by_the_next(small):
    """The request was not answered, and carried out when nobody waited any more."""
    before, plan = small.ledger(), small.plan(WRONG)
    [step] = plan.steps
    with small.journal(plan) as journal:
        journal.intend(step)
    assert undo(small, plan.id) == {}
    small.write(step)
    [outcome] = undo(small, plan.id).values()
    assert outcome.result == "done"
    assert small.ledger() == before


def test_an_undo_that_was_killed_is_gone_on_with(small):
    before, plan = small.ledger(), small.plan()
    small.apply(plan)
    folder = small.folder / "journal"
    with reopened(plan.id, folder) as journal:
        back = inverse(journal)
    with applying(back, folder, Origin()) as journal:
        journal.intend(back.steps[0])
        small.write(back.steps[0])
    outcomes = undo(small, plan.id)
    assert [one.result for one in outcomes.values()] == ["done"] * 3
    assert small.ledger() == before
    assert undo(small, plan.id) == {}


def killed_undo(small: Small, run: str, written: bool) -> Step:
    """The last step of a run that is in place, about to be taken back when that undo was killed.

    The undone run does not know of it.
    """
    with reopened(run, small.folder / "journal") as journal:
        back = inverse(journal)
    with applying(back, small.folder / "journal", Origin()) as journal:
        journal.intend(back.steps[0])
        if written:
            small.write(back.steps[0])
    return back.steps[0]


@pytest.mark.parametrize("noted", [False, True])
def test_invariant_10_what_a_killed_undo_took_back_is_done_again(small, noted):
    """Also where an earlier undo is noted, so that a new run begins."""
    plan = small.plan()
    small.apply(plan)
    repaired = small.ledger()
    if noted:
        undo(small, plan.id, plan.steps[0].id)
    killed_undo(small, plan.id, written=True)
    with applied(plan, small.cloud, small.folder / "journal") as found:
        assert {outcome.result for _, outcome in found.outcomes} == {"done"}
    assert small.ledger() == repaired


def test_with_a_damaged_journal_of_its_undo_a_run_neither_goes_on_nor_is_undone(small):
    """SAFETY: which steps that undo took back is not known; without it, all look in place."""
    folder = small.folder / "journal"
    plan = small.plan()
    small.apply(plan)
    killed_undo(small, plan.id, written=True)
    ledger, path = small.ledger(), folder / f"{runs(folder)[-1].run}.jsonl"
    content = path.read_bytes()
    path.write_bytes(content + b"garbage\n")
    with pytest.raises(JournalDamaged) as refused, applied(plan, small.cloud, folder):
        pass
    assert (refused.value.path, refused.value.line) == (str(path), 3)
    with pytest.raises(JournalDamaged):
        undo(small, plan.id)
    assert small.ledger() == ledger
    path.write_bytes(content)
    assert {one.result for one in undo(small, plan.id).values()} == {"done"}
    path.write_bytes(content + b"garbage\n")
    assert undo(small, f"{plan.id}-1") == {}, "all that it may have done is known from its run"


def test_a_run_does_not_go_on_while_a_killed_undo_may_still_take_back_a_step(small, monkeypatch):
    plan = small.plan()
    small.apply(plan)
    repaired, step = small.ledger(), killed_undo(small, plan.id, written=False)
    going_on = partial(applied, plan, small.cloud, small.folder / "journal")
    with pytest.raises(UndoOpen) as refused, going_on():
        pass
    assert refused.value.step == step.id
    monkeypatch.setattr(apply_module, "LATE", timedelta())
    with going_on() as found:
        assert found.finished
    assert small.ledger() == repaired


@pytest.mark.parametrize("late", [True, False])
def test_a_step_that_the_undone_run_left_open_belongs_to_the_next_run(on_both, late):
    """Its write was not answered, and is carried out before or after the next run begins."""
    small = on_both
    before, plan = small.ledger(), small.plan(WRONG, MISSING)
    first, second = plan.steps
    with small.journal(plan) as journal:
        journal.intend(first)
        small.write(first)
        journal.intend(second)
    assert undo(small, plan.id).keys() == set(first.consumers)
    if late:
        small.write(second)
    assert {one.result for one in small.apply(plan).values()} == {"done"}
    assert undo(small, f"{plan.id}-1") == {}, "it is the next run's"
    assert {one.result for one in undo(small, plan.id).values()} == {"done"}
    assert small.ledger() == before


def test_a_step_stays_unknown_in_the_next_run_as_long_as_its_write_may_come(small, monkeypatch):
    plan = small.plan(WRONG, MISSING)
    first, second = plan.steps
    with small.journal(plan) as journal:
        journal.intend(first)
        small.write(first)
        journal.intend(second)
        moment = journal.intended_at(second)
    undo(small, plan.id)
    small.change_instance(second.because[0].split(":")[0], task_state="migrating")
    assert small.apply(plan)[second.consumers[0]].result == "unknown"
    with small.journal(plan) as journal:
        assert journal.intended_at(second) == moment
    monkeypatch.setattr(apply_module, "LATE", timedelta())
    assert small.apply(plan)[second.consumers[0]].result == "refused"


def test_a_run_that_was_killed_when_it_began_has_what_the_one_before_left(small):
    plan = small.plan(WRONG, MISSING)
    small.apply(plan)
    undo(small, plan.id, plan.steps[0].id)
    with small.journal(plan):
        pass
    path = small.folder / "journal" / f"{plan.id}-2.jsonl"
    path.write_bytes(path.read_bytes().partition(b"\n")[0] + b"\n")
    assert {one.result for one in small.apply(plan).values()} == {"done"}


def test_a_step_that_was_refused_in_a_later_run_is_planned_at_the_version_it_has(small):
    """The first undo has raised its generation, and the second undo has not touched it."""
    plan = small.plan(WRONG, RESIDUE)
    small.apply(plan)
    undo(small, plan.id)
    small.change_instance(WRONG, task_state="migrating")
    small.apply(plan)
    undo(small, plan.id)
    small.change_instance(WRONG, task_state=None)
    assert {one.result for one in small.apply(plan).values()} == {"done"}
