# SPDX-License-Identifier: Apache-2.0
"""Allocations that are created in one request have outcomes of their own, each to be undone alone.

On a small cloud of the lab, with Placement served for real.
"""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.reconcile.observing import held, holding_more
from tests.reconcile.small import Small
from trueup.reconcile.plan import Plan
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.runs.apply import apply
from trueup.reconcile.runs.undo import inverse
from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.sources.nova.contract import NovaCell
from trueup.reconcile.sources.nova.databases import NovaDatabases
from trueup.reconcile.sources.placement.client import Placement

MISSING = "missing-allocation"


def lost(small: Small) -> Plan:
    """A plan for instances that have lost all they held: their steps are written in one request."""
    rows = small.sql("nova_cell1", "SELECT uuid FROM instances WHERE deleted = 0")
    for row in rows:
        small.call("DELETE", f"/allocations/{row['uuid']}")
    plan = small.plan(MISSING)
    assert len(plan.steps) > 3
    return plan


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The requests that write to Placement."""
    sent: list[str] = []
    send = Placement.send

    def noted(placement: Placement, method: str, path: str, *rest: Any) -> Any:
        sent.append(f"{method} {path}")
        return send(placement, method, path, *rest)

    monkeypatch.setattr(Placement, "send", noted)
    return sent


def test_allocations_are_created_in_one_request_and_each_has_an_outcome(on_both, writes):
    plan = lost(on_both)
    outcomes = on_both.apply(plan)
    assert writes == ["POST /allocations"]
    for step in plan.steps:
        [consumer] = step.consumers
        found = on_both.cloud.placement.holding(consumer)
        assert found.allocations == held(step)[1]
        assert outcomes[consumer].result == "done"
        assert outcomes[consumer].versions == ({consumer: found.generation},)


def test_one_of_many_is_taken_back_by_itself(small):
    plan = lost(small)
    small.apply(plan)
    first, *others = plan.steps
    with small.journal(plan) as journal:
        undo = inverse(journal, [first.id])
    assert len(undo.subjects) == 1
    small.apply(undo)
    holding = small.cloud.placement.holding
    assert holding(first.consumers[0]).allocations is None
    assert all(holding(one.consumers[0]).allocations == held(one)[1] for one in others)


def test_what_placement_refuses_for_one_is_written_for_the_others(on_both):
    plan = lost(on_both)
    greedy = holding_more(plan.steps[1], VCPU=100_000)
    outcomes = on_both.apply(replace(plan, steps=(plan.steps[0], greedy, *plan.steps[2:])))
    refusal = outcomes.pop(greedy.consumers[0])
    assert refusal.result == "refused"
    assert "VCPU" in in_words(refusal.reason)
    assert {one.result for one in outcomes.values()} == {"done"}


def test_invariant_7_an_instance_that_moved_is_refused_and_the_others_are_written(small, writes):
    plan = lost(small)
    moved = plan.steps[1].consumers[0]
    small.sql("nova_cell1", "UPDATE instances SET host = 'compute-99' WHERE uuid = ?", moved)
    outcomes = small.apply(plan)
    assert "host was" in in_words(outcomes.pop(moved).reason)
    assert {one.result for one in outcomes.values()} == {"done"}
    assert writes == ["POST /allocations"], "nothing is written for the one that moved"
    assert small.cloud.placement.holding(moved).allocations is None


def test_invariant_7_a_host_with_another_compute_node_is_refused_and_the_others_are_written(small):
    """It was made again since the plan: the provider that would be written is no longer its own."""
    plan = lost(small)
    state = plan.steps[1].guards[0]
    another = "61111111-2222-4333-8444-555555555555"
    for cell in ("nova_cell1", "nova_cell2"):
        small.sql(cell, "UPDATE compute_nodes SET uuid = ? WHERE host = ?", another, state.host)
    refused = {step.consumers[0] for step in plan.steps if step.guards[0].host == state.host}
    outcomes = small.apply(plan)
    assert 0 < len(refused) < len(outcomes)
    for consumer, outcome in outcomes.items():
        assert ("is gone" in in_words(outcome.reason)) is (consumer in refused)
        assert outcome.result == ("refused" if consumer in refused else "done")


def test_a_compute_node_is_read_once_for_all_steps(small, monkeypatch):
    plan, asked, read = lost(small), [], NovaDatabases.compute_nodes

    def noted(nova: NovaDatabases, cell: NovaCell, uuid: str, name: str = "") -> Any:
        asked.append(uuid)
        return read(nova, cell, uuid, name)

    monkeypatch.setattr(NovaDatabases, "compute_nodes", noted)
    assert {one.result for one in small.apply(plan).values()} == {"done"}
    assert len(asked) == len(set(asked)) < len(plan.steps)


def test_a_consumer_that_somebody_else_filled_meanwhile_keeps_what_it_holds(on_both):
    plan = lost(on_both)
    foreign = plan.steps[1]
    [consumer] = foreign.consumers
    body = {
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "allocations": {one: {"resources": {"VCPU": 1}} for one in held(foreign)[1].amounts},
    }
    assert on_both.call("PUT", f"/allocations/{consumer}", body).status_code == 204
    before = on_both.cloud.placement.holding(consumer)
    outcomes = on_both.apply(plan)
    assert in_words(outcomes.pop(consumer).reason).startswith(
        "its allocations are not what they were"
    )
    assert on_both.cloud.placement.holding(consumer) == before
    assert {one.result for one in outcomes.values()} == {"done"}


@pytest.mark.parametrize("written", [True, False])
def test_after_a_silence_what_each_holds_says_how_it_ended(small, monkeypatch, written):
    plan = lost(small)
    send = Placement.send

    def unanswered(placement: Placement, *request: Any) -> Any:
        if written:
            send(placement, *request)
        raise Unreachable("Placement", "it did not answer")

    monkeypatch.setattr(Placement, "send", unanswered)
    result = "done" if written else "unknown"
    assert {one.result for one in small.apply(plan).values()} == {result}
    monkeypatch.setattr(Placement, "send", send)
    outcomes = small.apply(plan)
    assert {one.result for one in outcomes.values()} == {"done"}
    assert all(one.versions == ({uuid: 1},) for uuid, one in outcomes.items())


def test_whoever_may_not_write_stops_at_the_first_step(small, monkeypatch):
    plan = lost(small)
    before = small.rows()

    def denied(placement: Placement, *request: Any) -> Any:
        raise AccessDenied("Placement", "it is not allowed")

    monkeypatch.setattr(Placement, "send", denied)
    with pytest.raises(AccessDenied):
        small.apply(plan)
    assert small.rows() == before
    with small.journal(plan) as journal:
        assert {journal.outcome_of(step).result for step in plan.steps} == {"refused"}


def test_a_run_that_was_killed_in_one_request_is_completed_exactly_once(on_both):
    plan = lost(on_both)
    with on_both.journal(plan) as journal:
        journal.intend(*plan.steps)
    for step in plan.steps[::2]:
        on_both.write(step)
    outcomes = on_both.apply(plan)
    assert {one.result for one in outcomes.values()} == {"done"}
    for step in plan.steps:
        [consumer] = step.consumers
        assert on_both.cloud.placement.holding(consumer).allocations == held(step)[1]
        assert outcomes[consumer].versions == ({consumer: 1},)


@pytest.mark.parametrize("status", [409, 500, 503, 200])
@pytest.mark.parametrize("written", [True, False])
def test_after_any_answer_but_success_what_each_holds_says_how_it_ended(
    small, monkeypatch, writes, written, status
):
    """A load balancer that loses an answer asks the next server, which answers 409.

    What has failed is sent again, one by one; what a proxy answers for may still be carried out.
    """
    plan, before = lost(small), small.ledger()
    answer_posts(monkeypatch, status, written)
    outcomes = small.apply(plan)
    again = not written and status in (409, 500)
    assert {one.result for one in outcomes.values()} == {"done" if written or again else "unknown"}
    puts = [one for one in writes if one.startswith("PUT")]
    assert len(puts) == (len(plan.steps) if again else 0)
    outcomes = small.apply(plan)
    assert {one.result for one in outcomes.values()} == {"done"}
    assert all(one.versions == ({uuid: 1},) for uuid, one in outcomes.items())
    small.apply(inverse_of(small, plan))
    assert small.ledger() == before


def answer_posts(monkeypatch: pytest.MonkeyPatch, status: int, written: bool) -> None:
    """Answer requests for several consumers with this status; they are carried out if `written`."""
    send = Placement.send

    def answered(placement: Placement, method: str, path: str, *rest: Any) -> Any:
        if method != "POST":
            return send(placement, method, path, *rest)
        if written:
            send(placement, method, path, *rest)
        return SimpleNamespace(status_code=status, headers={}, url=path, text="", json=dict)

    monkeypatch.setattr(Placement, "send", answered)


def test_what_was_written_is_on_disk_before_the_others_are_tried_alone(small, monkeypatch):
    """Killed then, the run still takes back what a request wrote that was answered with 409."""
    plan, before = lost(small), small.ledger()
    written, *others = plan.steps
    send = Placement.send

    def of_one(placement: Placement, method: str, path: str, body: Any, *rest: Any) -> Any:
        if method != "POST":
            raise Killed
        [consumer] = written.consumers
        send(placement, "PUT", f"/allocations/{consumer}", body[consumer], *rest)
        return SimpleNamespace(status_code=409, headers={}, url=path, text="", json=dict)

    monkeypatch.setattr(Placement, "send", of_one)
    with small.journal(plan) as journal, pytest.raises(Killed):
        list(apply(small.cloud, journal))
    monkeypatch.setattr(Placement, "send", send)
    with small.journal(plan) as journal:
        assert journal.outcome_of(written).result == "done"
        assert not any(journal.is_done(one.id) for one in others)
    small.apply(inverse_of(small, plan))
    assert small.ledger() == before


class Killed(Exception):
    """The process ended here."""


def inverse_of(small: Small, plan: Plan) -> Plan:
    with small.journal(plan) as journal:
        return inverse(journal, ())


def test_who_may_only_write_one_consumer_at_a_time_does_so(small, monkeypatch):
    """The two requests have policies of their own."""
    plan = lost(small)
    send = Placement.send

    def denied(placement: Placement, method: str, path: str, *rest: Any) -> Any:
        if method == "POST":
            raise AccessDenied("Placement", "it is not allowed")
        return send(placement, method, path, *rest)

    monkeypatch.setattr(Placement, "send", denied)
    assert {one.result for one in small.apply(plan).values()} == {"done"}


def test_what_somebody_else_has_made_before_is_not_taken_for_ours(on_both, writes):
    """The same plan, applied in part by somebody else, at the version that we would leave."""
    plan = lost(on_both)
    theirs = plan.steps[1]
    on_both.write(theirs)
    [consumer] = theirs.consumers
    outcomes = on_both.apply(plan)
    assert "another client has already made this change" in in_words(outcomes.pop(consumer).reason)
    assert {one.result for one in outcomes.values()} == {"done"}
    undo = inverse_of(on_both, plan)
    assert consumer not in undo.subjects
    on_both.apply(undo)
    assert on_both.cloud.placement.holding(consumer).allocations == held(theirs)[1]


def test_an_instance_whose_consumer_is_stuck_is_healed_with_the_others(on_both):
    """Upstream leaves such a consumer behind a refused write (nova-facts, Placement 4)."""
    plan = lost(on_both)
    [consumer] = plan.steps[1].consumers
    body = {
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "allocations": {"6fa0a2a1-0000-4000-8000-000000000000": {"resources": {"VCPU": 1}}},
    }
    assert on_both.call("PUT", f"/allocations/{consumer}", body).status_code == 400
    assert {one.result for one in on_both.apply(plan).values()} == {"done"}


def test_healed_consumers_with_rows_that_were_left_are_taken_back(small):
    """Somebody emptied `allocations` with SQL: the rows of consumers, and generations, are left."""
    plan = lost(small)
    small.apply(plan)
    for step in plan.steps:
        small.sql("placement", "DELETE FROM allocations WHERE consumer_id = ?", *step.consumers)
    again = small.plan(MISSING)
    assert {one.result for one in small.apply(again).values()} == {"done"}
    undone = small.apply(inverse_of(small, again))
    assert {one.result for one in undone.values()} == {"done"}


def test_a_source_that_falls_silent_is_asked_once(small, monkeypatch):
    plan = lost(small)
    asked: list[str] = []

    def silent(placement: Placement, *request: Any, **options: Any) -> Any:
        asked.append(" ".join(map(str, request[:2])))
        raise Unreachable("Placement", "it did not answer")

    def falling_silent(placement: Placement, *request: Any) -> Any:
        monkeypatch.setattr(Placement, "_request", silent)
        return silent(placement, *request)

    with small.journal(plan) as journal:
        outcomes = apply(small.cloud, journal)
        monkeypatch.setattr(Placement, "send", falling_silent)
        with pytest.raises(Unreachable):
            list(outcomes)
        assert {journal.outcome_of(step).result for step in plan.steps} == {"unknown"}
    assert len(asked) == 2
