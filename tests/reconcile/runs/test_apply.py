# SPDX-License-Identifier: Apache-2.0
"""Apply writes a step only while everything it guards is as it was planned.

On a small cloud of the lab, with Placement served for real.
"""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from msgspec import structs

from tests.reconcile.observing import gains, held, holding_more
from tests.reconcile.small import Small
from trueup.reconcile.plan import Plan
from trueup.reconcile.reasons import because
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.runs import apply as apply_module
from trueup.reconcile.runs.apply import require_answers, resolve_interrupted
from trueup.reconcile.runs.journal import Outcome
from trueup.reconcile.sources.errors import Unreachable

WRONG, MISSING = "wrong-provider", "missing-allocation"
ORPHANED, RESIDUE = "orphaned-allocation", "evacuation-residue"
EVERY = (ORPHANED, RESIDUE, MISSING, WRONG)
LATER = datetime(2030, 1, 1, 12, 0, 0)


def refused(small: Small, plan: Plan) -> str:
    """The reason why its one step is refused; nothing is written, and nothing was intended."""
    before = small.rows()
    [step] = plan.steps
    [outcome] = small.apply(plan).values()
    assert outcome.result == "refused"
    assert outcome.versions == ()
    assert small.rows() == before, "nothing is written"
    with small.journal(plan) as journal:
        assert journal.intended_at(step) is None
    return in_words(outcome.reason)


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
    sides = {step.consumers[0]: held(step) for step in plan.steps}
    assert all(holding(one).allocations == before for one, (before, _) in sides.items())
    outcomes = on_both.apply(plan)
    for consumer, (_, after) in sides.items():
        assert outcomes[consumer].result == "done"
        assert holding(consumer).allocations == after
        assert outcomes[consumer].versions == ({consumer: holding(consumer).generation},)
    assert on_both.plan().steps == ()


def test_invariant_9_a_step_writes_to_its_consumer_and_to_nothing_else(small):
    plan, before = small.plan(), small.ledger()
    small.apply(plan)
    after = small.ledger()
    changed = {one for step in plan.steps for one in step.consumers}
    assert len(changed) == 4
    assert after["providers"] == before["providers"]
    for consumer in before["allocations"].keys() - changed:
        assert after["allocations"][consumer] == before["allocations"][consumer]
    keeping = small.consumer(RESIDUE)
    # Each row ends with the project, the user and the type of its consumer.
    owners = [{row[-3:] for row in ledger["allocations"][keeping]} for ledger in (before, after)]
    assert owners[0] == owners[1]
    assert len(owners[0]) == 1


@pytest.mark.parametrize(
    ("column", "value", "was"),
    [
        ("host", "compute-99", None),
        ("node", "compute-99.lab.example", None),
        ("vm_state", "rescued", None),
        ("task_state", "rebooting", "none"),
        ("updated_at", LATER.isoformat(sep=" "), None),
    ],
)
def test_invariant_7_an_instance_that_moved_is_refused_by_name(small, column, value, was):
    plan = small.plan(WRONG)
    planned = getattr(plan.steps[0].guards[0], column)
    small.change_instance(WRONG, **{column: value})
    words, now = column.replace("_", " "), LATER if column == "updated_at" else value
    assert refused(small, plan) == f"the instance's {words} was {was or planned}, it is {now}"


def test_invariant_7_an_instance_that_was_deleted_is_refused(small):
    plan = small.plan(WRONG)
    small.change_instance(WRONG, deleted=4711)
    assert refused(small, plan) == "the instance was deleted since"


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
    assert refused(small, plan) == "a migration of the instance began"


def test_invariant_7_an_instance_that_came_back_to_life_keeps_what_it_holds(small):
    plan = small.plan(ORPHANED)
    small.change_instance(ORPHANED, deleted=0)
    assert refused(small, plan) == "the instance is back"


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
    was = plan.steps[0].changes[0].version[consumer]
    rewritten(small, consumer)
    assert (
        refused(small, plan)
        == f"its allocations were written since: generation {was}, now {was + 1}"
    )


@pytest.mark.parametrize("defect", EVERY)
def test_allocations_that_are_no_longer_the_same_are_refused(small, defect):
    plan = small.plan(defect)
    consumer = small.consumer(defect)
    if defect == MISSING:
        owner = {"project_id": "p", "user_id": "u", "consumer_generation": None}
        node = next(iter(held(plan.steps[0])[1].amounts))
        body = {**owner, "allocations": {node: {"resources": {"VCPU": 1}}}}
        assert small.call("PUT", f"/allocations/{consumer}", body).status_code == 204
    else:
        assert small.call("DELETE", f"/allocations/{consumer}").status_code == 204
    assert refused(small, plan).startswith("its allocations are not what they were")


def test_a_busy_host_is_repaired_all_the_same(on_both):
    """Boots on the host move the provider's generation; only the consumer's own is a guard."""
    plan = on_both.plan()
    gaining = {uuid for step in plan.steps for uuid in gains(*held(step))}
    assert gaining
    for provider in gaining:
        url = f"/resource_providers/{provider}/inventories"
        assert on_both.call("PUT", url, on_both.call("GET", url).json()).status_code == 200
    assert {one.result for one in on_both.apply(plan).values()} == {"done"}


def test_all_that_moved_is_named_at_once(small):
    plan = small.plan(WRONG)
    small.change_instance(WRONG, host="compute-99", task_state="migrating")
    small.call("DELETE", f"/allocations/{small.consumer(WRONG)}")
    reason = refused(small, plan)
    for words in ("its allocations are not", "host was", "task state was none"):
        assert words in reason


def test_one_refusal_does_not_keep_the_others_from_being_done(small):
    plan = small.plan()
    small.change_instance(WRONG, task_state="migrating")
    outcomes = small.apply(plan)
    refusals = [uuid for uuid, one in outcomes.items() if one.result == "refused"]
    assert refusals == [small.consumer(WRONG)]
    assert len(outcomes) == 4


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


def test_what_placement_refuses_is_refused_with_its_reason(on_both):
    plan = on_both.plan(MISSING)
    before = on_both.rows()
    steps = (holding_more(plan.steps[0], VCPU=100_000),)
    [outcome] = on_both.apply(replace(plan, steps=steps)).values()
    assert outcome.result == "refused"
    assert "VCPU" in in_words(outcome.reason)
    after = on_both.rows()
    assert after["allocations"] == before["allocations"]


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


def interrupted(small: Small, plan: Plan, written: bool) -> None:
    """A run that was killed between its intent and its settling."""
    with small.journal(plan) as journal:
        journal.intend(plan.steps[0])
    if written:
        small.write(plan.steps[0])


def small_apply(small: Small, plan: Plan) -> Outcome:
    """How the one step of a plan ends when the plan is applied."""
    [outcome] = small.apply(plan).values()
    return outcome


def resolved(small: Small, plan: Plan) -> Outcome | None:
    """What an undo finds out about the one step of a plan, before it takes anything back."""
    with small.journal(plan) as journal:
        resolve_interrupted(small.cloud, journal)
        return journal.outcome_of(plan.steps[0])


@pytest.mark.parametrize("defect", EVERY)
def test_what_a_killed_run_wrote_is_found_out_from_what_is_there(small, defect):
    plan = small.plan(defect)
    [step] = plan.steps
    interrupted(small, plan, written=True)
    with small.journal(plan) as journal:
        resolve_interrupted(small.cloud, journal)
        found = journal.outcome_of(step)
    assert found.result == "done"
    [consumer] = step.consumers
    assert found.versions == ({consumer: small.cloud.placement.holding(consumer).generation},)


@pytest.mark.parametrize("attempt", [small_apply, resolved], ids=["apply", "undo"])
def test_what_a_killed_second_attempt_wrote_is_found_out_too(small, attempt):
    """The first attempt was refused: the journal has an outcome from before the intent."""
    plan = small.plan(WRONG)
    [step] = plan.steps
    small.change_instance(WRONG, task_state="migrating")
    assert [one.result for one in small.apply(plan).values()] == ["refused"]
    small.change_instance(WRONG, task_state=None)
    interrupted(small, plan, written=True)
    assert attempt(small, plan).result == "done"
    with small.journal(plan) as journal:
        assert [one.id for one, _ in journal.in_place] == [step.id]


def test_what_a_killed_run_did_not_write_may_still_come(small, monkeypatch):
    plan = small.plan(WRONG)
    [step] = plan.steps
    interrupted(small, plan, written=False)
    with small.journal(plan) as journal:
        resolve_interrupted(small.cloud, journal)
        assert journal.outcome_of(step).result == "unknown"
        monkeypatch.setattr(apply_module, "LATE", timedelta())
        resolve_interrupted(small.cloud, journal)
        outcome = journal.outcome_of(step)
    assert outcome == Outcome(step.id, "refused", because("interrupted"))


def test_an_unknown_step_is_written_by_the_next_run(small):
    plan = small.plan(WRONG)
    interrupted(small, plan, written=False)
    assert small.apply(plan)[small.consumer(WRONG)].result == "done"


# What releases a consumer leaves nothing that somebody else could have written to.
@pytest.mark.parametrize("defect", [RESIDUE, MISSING, WRONG])
def test_somebody_elses_write_is_not_taken_for_ours(small, defect):
    """The same content, but not at the generation that our write leaves."""
    plan = small.plan(defect)
    [step] = plan.steps
    [consumer] = step.consumers
    interrupted(small, plan, written=True)
    rewritten(small, consumer)
    outcome = small.apply(plan)[consumer]
    assert outcome.result == "refused"
    with small.journal(plan) as journal:
        assert journal.in_place == (), "so that no undo destroys it"


def test_what_was_never_intended_stays_open(small):
    plan = small.plan(WRONG)
    with small.journal(plan) as journal:
        resolve_interrupted(small.cloud, journal)
        assert journal.outcome_of(plan.steps[0]) is None


def test_an_undo_does_not_compare_when_the_instance_last_changed(small):
    plan = small.plan(WRONG)
    [step] = plan.steps
    guard = structs.replace(step.guards[0], updated_at=None)
    late = replace(plan, steps=(structs.replace(step, guards=(guard,)),))
    small.change_instance(WRONG, updated_at=(LATER + timedelta(days=1)).isoformat(sep=" "))
    assert small.apply(late)[small.consumer(WRONG)].result == "done"


def test_a_step_that_needs_another_waits_for_it(small):
    plan = small.plan(WRONG, MISSING)
    first, second = plan.steps
    needing = structs.replace(second, needs=(first.id,))
    small.change_instance(MISSING, task_state="migrating")
    small.change_instance(WRONG, task_state="migrating")
    outcomes = small.apply(replace(plan, steps=(first, needing)))
    assert (
        in_words(outcomes[second.consumers[0]].reason) == f"it needs {first.id}, which is not done"
    )
    small.change_instance(MISSING, task_state=None)
    small.change_instance(WRONG, task_state=None)
    outcomes = small.apply(replace(plan, steps=(first, needing)))
    assert {one.result for one in outcomes.values()} == {"done"}
