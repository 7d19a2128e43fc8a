# SPDX-License-Identifier: Apache-2.0
"""Undo is apply of the inverse: it restores what was, and refuses by name what changed since."""

from dataclasses import replace
from datetime import datetime

from tests.clouds.ledger import ledger_at
from tests.reconcile.planning import planned
from tests.reconcile.small import Small
from trueup.reconcile.apply import settle_interrupted
from trueup.reconcile.journal import Settled, opened, read
from trueup.reconcile.plan import Plan
from trueup.reconcile.undo import inverse

WRONG, MISSING = "wrong-provider", "missing-allocation"
ORPHANED, RESIDUE = "orphaned-allocation", "evacuation-residue"


def inverse_of(small: Small, plan: Plan) -> Plan:
    return inverse(read(plan.id, small.folder / "journal"))


def test_the_inverse_swaps_what_was_done_last_first(tmp_path):
    plan = planned()
    first, second, third = plan.steps
    with opened(plan, tmp_path) as journal:
        journal.settle(Settled(first.id, "done", generation=None))
        journal.settle(Settled(second.id, "refused", "it moved"))
        journal.settle(Settled(third.id, "done", generation=4, provider_generations={"p": 9}))
        undo = inverse(journal)
    assert [step.consumer for step in undo.steps] == [third.consumer, first.consumer]
    assert [(step.before, step.after) for step in undo.steps] == [
        (third.after, third.before),
        (first.after, first.before),
    ]
    assert [step.guard.consumer_generation for step in undo.steps] == [4, None]
    assert undo.undoes == plan.id
    assert undo.cells == plan.cells


def test_an_undo_may_come_long_after(tmp_path):
    """Other consumers move the providers' generations, and an instance changes all the time."""
    plan = planned()
    with opened(plan, tmp_path) as journal:
        for step in plan.steps:
            journal.settle(Settled(step.id, "done", generation=1))
        undo = inverse(journal)
    for step, undone in zip(reversed(plan.steps), undo.steps, strict=True):
        assert undone.guard.provider_generations == {}
        assert undone.guard.instance == replace(step.guard.instance, updated_at=None)


def test_nothing_done_is_nothing_to_undo(tmp_path):
    with opened(planned(), tmp_path) as journal:
        assert inverse(journal).steps == ()


def test_invariant_10_undo_restores_what_was(on_both):
    before, plan = on_both.ledger(), on_both.plan()
    on_both.apply(plan)
    assert on_both.ledger() != before
    settled = on_both.apply(inverse_of(on_both, plan))
    assert [one.result for one in settled.values()] == ["done"] * 4
    assert on_both.ledger() == before


def test_an_undo_is_undone_like_any_run(small):
    plan = small.plan()
    small.apply(plan)
    repaired = small.ledger()
    undo = inverse_of(small, plan)
    small.apply(undo)
    assert small.ledger() != repaired
    again = inverse_of(small, undo)
    assert again.undoes == undo.id
    assert {one.result for one in small.apply(again).values()} == {"done"}
    assert small.ledger() == repaired


def test_invariant_10_what_changed_since_is_refused_by_name_and_the_rest_is_undone(small):
    before, plan = small.ledger(), small.plan()
    small.apply(plan)
    released = small.consumer(WRONG)
    assert small.call("DELETE", f"/allocations/{released}").status_code == 204
    small.change_instance(RESIDUE, host="compute-99")
    settled = small.apply(inverse_of(small, plan))
    assert settled[released].reason.startswith("its allocations are not what they were")
    assert settled[small.consumer(RESIDUE)].reason.startswith("the instance's host was")
    for defect in (ORPHANED, MISSING):
        assert settled[small.consumer(defect)].result == "done"
    after = small.ledger()["allocations"]
    assert after.get(small.consumer(ORPHANED)) == before["allocations"][small.consumer(ORPHANED)]
    assert small.consumer(MISSING) not in after
    assert released not in after


def test_a_consumer_written_since_is_refused_though_it_holds_the_same(small):
    plan = small.plan(WRONG)
    consumer = small.consumer(WRONG)
    generation = small.apply(plan)[consumer].generation
    holding = small.holding(consumer)
    body = {name: holding[name] for name in ("project_id", "user_id", "consumer_generation")}
    held = {uuid: {"resources": row["resources"]} for uuid, row in holding["allocations"].items()}
    put = small.call("PUT", f"/allocations/{consumer}", body | {"allocations": held})
    assert put.status_code == 204
    [settled] = small.apply(inverse_of(small, plan)).values()
    assert settled.reason == f"its consumer generation was {generation}, it is {generation + 1}"


def test_an_instance_that_merely_changed_is_undone(small):
    before, plan = small.ledger(), small.plan(WRONG)
    small.apply(plan)
    small.change_instance(WRONG, updated_at=datetime(2030, 1, 1).isoformat(sep=" "))
    [settled] = small.apply(inverse_of(small, plan)).values()
    assert settled.result == "done"
    assert ledger_at(small.placement_url) == before


def test_a_run_killed_after_its_write_is_undone_too(small):
    before, plan = small.ledger(), small.plan(WRONG)
    [step] = plan.steps
    with opened(plan, small.folder / "journal") as journal:
        journal.intend(step)
        small.cloud.placement.replace(
            step.consumer, step.before, step.after, step.guard.consumer_generation
        )
    with opened(plan, small.folder / "journal") as journal:
        settle_interrupted(small.cloud, journal)
        undo = inverse(journal)
    [settled] = small.apply(undo).values()
    assert settled.result == "done"
    assert small.ledger() == before
