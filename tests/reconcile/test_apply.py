# SPDX-License-Identifier: Apache-2.0
"""Apply writes a step only while everything it guards is as it was planned.

On a small cloud of the lab, with Placement served for real.
"""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.reconcile.small import Small
from trueup.reconcile.apply import apply, require_answers, settle_interrupted
from trueup.reconcile.journal import Settled, opened
from trueup.reconcile.plan import Plan
from trueup.reconcile.sources.errors import Unreachable

WRONG, MISSING = "wrong-provider", "missing-allocation"
ORPHANED, RESIDUE = "orphaned-allocation", "evacuation-residue"
EVERY = (ORPHANED, RESIDUE, MISSING, WRONG)
LATER = datetime(2030, 1, 1, 12, 0, 0)


def refused(small: Small, plan: Plan) -> str:
    """The reason why its one step is refused; nothing is written, and nothing was intended."""
    before = small.rows()
    [step] = plan.steps
    [settled] = small.apply(plan).values()
    assert settled.result == "refused"
    assert settled.generation is None
    assert small.rows() == before, "nothing is written"
    with opened(plan, small.folder / "journal") as journal:
        assert not journal.was_intended(step)
    return settled.reason


def rewritten(small: Small, consumer: str, **changes: object) -> None:
    """What the consumer holds, put once more by somebody else."""
    holding = small.holding(consumer)
    body = {
        "allocations": {
            uuid: {"resources": row["resources"]} for uuid, row in holding["allocations"].items()
        },
        "project_id": holding["project_id"],
        "user_id": holding["user_id"],
        "consumer_generation": holding["consumer_generation"],
    }
    answer = small.call("PUT", f"/allocations/{consumer}", body | changes, 38 if changes else 36)
    assert answer.status_code == 204


def test_a_step_leaves_after_where_before_was(on_both):
    plan, holding = on_both.plan(), on_both.cloud.placement.holding
    assert {reason.split(":")[0] for step in plan.steps for reason in step.because} == set(EVERY)
    assert all(holding(step.consumer).allocations == step.before for step in plan.steps)
    settled = on_both.apply(plan)
    for step in plan.steps:
        assert settled[step.consumer].result == "done"
        assert holding(step.consumer).allocations == step.after
        assert holding(step.consumer).generation == settled[step.consumer].generation
    assert on_both.plan().steps == ()


def test_invariant_9_a_step_writes_to_its_consumer_and_to_nothing_else(small):
    plan, before = small.plan(), small.ledger()
    small.apply(plan)
    after = small.ledger()
    changed = {step.consumer for step in plan.steps}
    assert len(changed) == 4
    assert after["providers"] == before["providers"]
    for consumer in before["allocations"].keys() - changed:
        assert after["allocations"][consumer] == before["allocations"][consumer]
    keeping = small.consumer(RESIDUE)
    for field in ("project_id", "user_id", "consumer_type"):
        assert after["allocations"][keeping][field] == before["allocations"][keeping][field]


@pytest.mark.parametrize(
    ("column", "value", "was"),
    [
        ("host", "compute-99", None),
        ("node", "compute-99.lab.example", None),
        ("vm_state", "rescued", None),
        ("task_state", "rebooting", "None"),
        ("updated_at", LATER.isoformat(sep=" "), None),
        ("deleted", 4711, "False"),
    ],
)
def test_invariant_7_an_instance_that_moved_is_refused_by_name(small, column, value, was):
    plan = small.plan(WRONG)
    planned = getattr(plan.steps[0].guard.instance, column)
    small.change_instance(WRONG, **{column: value})
    now = {"deleted": "True", "updated_at": LATER}.get(column, value)
    assert refused(small, plan) == f"the instance's {column} was {was or planned}, it is {now}"


@pytest.mark.parametrize("status", ["accepted", "running", "finished", None])
def test_invariant_7_a_move_that_began_is_refused_by_name(small, status):
    plan = small.plan(WRONG)
    cell = f"nova_{small.planted[WRONG].cell}"
    small.sql(
        cell,
        "INSERT INTO migrations (uuid, instance_uuid, migration_type, status, deleted, hidden)"
        " VALUES ('11111111-2222-4333-8444-555555555555', ?, 'resize', ?, 0, 0)",
        small.consumer(WRONG),
        status,
    )
    assert refused(small, plan) == "the instance's moving was False, it is True"


def test_invariant_7_an_instance_that_came_back_to_life_keeps_what_it_holds(small):
    plan = small.plan(ORPHANED)
    small.change_instance(ORPHANED, deleted=0)
    assert refused(small, plan) == "the instance's deleted was True, it is False"


def test_invariant_6_an_instance_whose_row_is_gone_is_refused(small):
    plan = small.plan(ORPHANED)
    cell = f"nova_{small.planted[ORPHANED].cell}"
    small.sql(cell, "DELETE FROM instances WHERE uuid = ?", small.consumer(ORPHANED))
    assert "is gone from its cell" in refused(small, plan)


def test_a_cell_that_is_no_longer_mapped_is_refused(small):
    plan = small.plan(WRONG)
    cell = small.planted[WRONG].cell
    small.sql("nova_api", "DELETE FROM cell_mappings WHERE name = ?", cell)
    small.cloud.nova.cells()
    assert "is gone from its cell" in refused(small, plan)


def test_a_consumer_that_was_written_meanwhile_is_refused_though_it_holds_the_same(small):
    plan = small.plan(WRONG)
    consumer = small.consumer(WRONG)
    rewritten(small, consumer, consumer_type="INSTANCE")
    assert "its allocations are not what they were" in refused(small, plan), "its type is new"
    plan = small.plan(WRONG)
    was = plan.steps[0].guard.consumer_generation
    rewritten(small, consumer)
    assert refused(small, plan) == f"its consumer generation was {was}, it is {was + 1}"


@pytest.mark.parametrize("defect", EVERY)
def test_allocations_that_are_no_longer_the_same_are_refused(small, defect):
    plan = small.plan(defect)
    consumer = small.consumer(defect)
    if defect == MISSING:
        owner = {"project_id": "p", "user_id": "u", "consumer_generation": None}
        node = next(iter(plan.steps[0].after.amounts))
        body = {**owner, "allocations": {node: {"resources": {"VCPU": 1}}}}
        assert small.call("PUT", f"/allocations/{consumer}", body).status_code == 204
    else:
        assert small.call("DELETE", f"/allocations/{consumer}").status_code == 204
    assert refused(small, plan).startswith("its allocations are not what they were")


def test_a_provider_that_changed_is_refused_by_name(small):
    plan = small.plan(WRONG)
    [(provider, was)] = plan.steps[0].guard.provider_generations.items()
    url = f"/resource_providers/{provider}/inventories"
    unchanged = small.call("GET", url).json()
    assert small.call("PUT", url, unchanged).status_code == 200
    assert (
        refused(small, plan) == f"the generation of provider {provider} was {was}, it is {was + 1}"
    )


def test_a_provider_that_is_gone_is_refused_by_name(small):
    uuid = "99999999-2222-4333-8444-555555555555"
    plan = small.plan(WRONG)
    [step] = plan.steps
    guard = replace(step.guard, provider_generations={uuid: 0})
    assert refused(small, replace(plan, steps=(replace(step, guard=guard),))) == (
        f"provider {uuid} is gone"
    )


def test_all_that_moved_is_named_at_once(small):
    plan = small.plan(WRONG)
    small.change_instance(WRONG, host="compute-99", task_state="migrating")
    small.call("DELETE", f"/allocations/{small.consumer(WRONG)}")
    reason = refused(small, plan)
    for words in ("its allocations are not", "host was", "task_state was None"):
        assert words in reason


def test_one_refusal_does_not_keep_the_others_from_being_done(small):
    plan = small.plan()
    small.change_instance(WRONG, task_state="migrating")
    settled = small.apply(plan)
    refusals = [uuid for uuid, one in settled.items() if one.result == "refused"]
    assert refusals == [small.consumer(WRONG)]
    assert len(settled) == 4


def test_what_was_refused_is_tried_again_and_what_is_done_is_not(small):
    plan = small.plan()
    small.change_instance(WRONG, task_state="migrating")
    first = small.apply(plan)
    small.change_instance(WRONG, task_state=None)
    again = small.apply(plan)
    assert again[small.consumer(WRONG)].result == "done"
    assert {one.result for one in again.values()} == {"done"}
    for consumer in again.keys() - {small.consumer(WRONG)}:
        assert again[consumer] == first[consumer]


def test_own_writes_do_not_trip_own_guards(small):
    """Each write moves the generation of the provider that the next step guards as well."""
    plan = small.plan(MISSING)
    [provider] = plan.steps[0].guard.provider_generations
    neighbours = small.call("GET", f"/resource_providers/{provider}/allocations").json()
    settled = small.sql(
        f"nova_{small.planted[MISSING].cell}",
        "SELECT uuid FROM instances WHERE deleted = 0 AND task_state IS NULL"
        " AND vm_state IN ('active', 'stopped')",
    )
    for consumer in neighbours["allocations"].keys() & {row["uuid"] for row in settled}:
        assert small.call("DELETE", f"/allocations/{consumer}").status_code == 204
    plan = small.plan(MISSING)
    generations = {
        step.guard.provider_generations[provider]
        for step in plan.steps
        if provider in step.guard.provider_generations
    }
    assert len(plan.steps) > 1
    assert len(generations) == 1, "all of them guard the same generation"
    assert {one.result for one in small.apply(plan).values()} == {"done"}


def test_a_foreign_write_between_two_own_ones_is_noticed(small):
    plan = small.plan()
    release_step, *others = plan.steps
    gaining = next(step for step in others if step.guard.provider_generations)
    [provider] = gaining.guard.provider_generations
    url = f"/resource_providers/{provider}/inventories"
    results = {}
    with opened(plan, small.folder / "journal") as journal:
        for step, settled in apply(plan, small.cloud, journal):
            results[step.consumer] = settled
            if step == release_step:
                assert small.call("PUT", url, small.call("GET", url).json()).status_code == 200
    assert results[release_step.consumer].result == "done"
    assert f"the generation of provider {provider}" in results[gaining.consumer].reason


def test_what_placement_refuses_is_refused_with_its_reason(small):
    plan = small.plan(MISSING)
    [step] = plan.steps
    [(provider, amounts)] = step.after.amounts.items()
    after = replace(step.after, amounts={provider: {**amounts, "VCPU": 100_000}})
    before = small.rows()
    [settled] = small.apply(replace(plan, steps=(replace(step, after=after),))).values()
    assert settled.result == "refused"
    assert "VCPU" in settled.reason
    assert small.rows() == before


def stuck(small: Small, consumer: str) -> bool:
    """Try what leaves a consumer without allocations in upstream; whether it is in the way."""
    nowhere = "99999999-2222-4333-8444-555555555555"
    body = {
        "allocations": {nowhere: {"resources": {"VCPU": 1}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
    }
    first = small.call("PUT", f"/allocations/{consumer}", body)
    assert first.status_code == 400
    again = small.call("PUT", f"/allocations/{consumer}", body)
    return again.status_code == 409


@pytest.mark.parametrize("placement", ["upstream", "trueup"])
def test_a_consumer_stuck_by_a_refused_write_is_got_past(small_on, placement):
    """nova-facts, Placement 4: upstream keeps the consumer, we must not."""
    small = small_on(placement)
    consumer = small.consumer(MISSING)
    plan = small.plan(MISSING)
    assert stuck(small, consumer) is (placement == "upstream")
    assert small.apply(plan)[consumer].result == "done"
    assert small.cloud.placement.holding(consumer).allocations == plan.steps[0].after


def test_a_plan_made_after_it_got_stuck_is_written_too(small_on):
    small = small_on("upstream")
    assert stuck(small, small.consumer(MISSING))
    plan = small.plan(MISSING)
    assert plan.steps[0].guard.consumer_generation is None
    assert small.apply(plan)[small.consumer(MISSING)].result == "done"


def test_getting_past_a_stuck_consumer_takes_nothing_from_who_filled_it(small_on):
    small = small_on("upstream")
    consumer = small.consumer(MISSING)
    plan = small.plan(MISSING)
    assert stuck(small, consumer)
    [provider] = plan.steps[0].after.amounts
    theirs = {
        "allocations": {provider: {"resources": {"VCPU": 1}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": 0,
    }
    assert small.call("PUT", f"/allocations/{consumer}", theirs).status_code == 204
    assert refused(small, plan).startswith("its allocations are not what they were")


def test_every_source_is_asked_before_anything_is_written(small):
    plan, before = small.plan(), small.rows()
    require_answers(plan, small.cloud)
    (small.folder / f"nova_{small.planted[WRONG].cell}.sqlite").unlink()
    with pytest.raises(Unreachable) as silent:
        require_answers(plan, small.cloud)
    assert silent.value.source == small.planted[WRONG].cell
    assert small.rows() == before


def test_a_cell_that_falls_silent_leaves_the_step_open(small):
    plan, before = small.plan(WRONG), small.rows()
    database = small.folder / f"nova_{small.planted[WRONG].cell}.sqlite"
    away = database.rename(database.with_suffix(".away"))
    with pytest.raises(Unreachable):
        small.apply(plan)
    assert small.rows() == before
    away.rename(database)
    assert small.apply(plan)[small.consumer(WRONG)].result == "done"


@pytest.mark.parametrize("written", [True, False])
def test_what_a_killed_run_intended_is_settled_by_what_is_there(small, written):
    plan = small.plan(WRONG)
    [step] = plan.steps
    with opened(plan, small.folder / "journal") as journal:
        journal.intend(step)
    if written:
        small.cloud.placement.replace(
            step.consumer, step.before, step.after, step.guard.consumer_generation
        )
    with opened(plan, small.folder / "journal") as journal:
        settle_interrupted(small.cloud, journal)
        found = journal.settled(step)
    if written:
        assert found.result == "done"
        assert found.generation == small.cloud.placement.holding(step.consumer).generation
    else:
        assert found == Settled(step.id, "refused", "interrupted before it was written")


def test_what_was_never_intended_stays_open(small):
    plan = small.plan(WRONG)
    with opened(plan, small.folder / "journal") as journal:
        settle_interrupted(small.cloud, journal)
        assert journal.settled(plan.steps[0]) is None


def test_an_undo_does_not_compare_when_the_instance_last_changed(small):
    plan = small.plan(WRONG)
    [step] = plan.steps
    mark = replace(step.guard.instance, updated_at=None)
    late = replace(plan, steps=(replace(step, guard=replace(step.guard, instance=mark)),))
    small.change_instance(WRONG, updated_at=(LATER + timedelta(days=1)).isoformat(sep=" "))
    assert small.apply(late)[step.consumer].result == "done"
