# SPDX-License-Identifier: Apache-2.0
"""Allocations are written at the consumers' generations, several at once, on both Placements."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from tests.reconcile.observing import held
from tests.reconcile.runs.test_apply import refused, rewritten
from tests.reconcile.runs.test_undo import undo
from tests.reconcile.small import Small
from tests.reconcile.sources.broken_server import VERSIONS, Reply, answering, client
from tests.reconcile.test_changes import Answer
from trueup.reconcile import changes
from trueup.reconcile.changes import Fate, Found
from trueup.reconcile.facts import Allocations, Holding
from trueup.reconcile.plan import Plan
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import AccessDenied, MicroversionTooOld
from trueup.reconcile.sources.placement.client import Placement
from trueup.reconcile.steps import AllocationsOf, Change, Held, step_of

MISSING, WRONG = "missing-allocation", "wrong-provider"
ALLOCATED = Allocations({"p": {"VCPU": 1}}, project="a-project", user="a-user")
ROOT = {"GET /": Reply(200, VERSIONS)}


def of(consumer: str, before: Allocations | None, after: Allocations | None, version: int | None):
    target = AllocationsOf((consumer,))
    return Change(target, Held({consumer: before}), Held({consumer: after}), {consumer: version})


def cloud_at(url: str) -> Cloud:
    return Cloud(nova=None, placement=client(url))


def test_a_replace_keeps_owner_and_type(on_both):
    consumer, cloud = on_both.consumer(WRONG), on_both.cloud
    before = cloud.placement.holding(consumer)
    assert before.allocations.consumer_type is None, "as Nova writes it"
    for kind in (None, "INSTANCE", "MIGRATION"):
        wanted = replace(before.allocations, consumer_type=kind)
        change = of(consumer, before.allocations, wanted, before.generation)
        reply = changes.write(change, cloud)
        assert reply.accepted
        after = cloud.placement.holding(consumer)
        assert after == Holding(wanted, before.generation + 1)
        assert reply.version == changes.version_after(change) == {consumer: after.generation}
        assert changes.write(of(consumer, wanted, None, after.generation), cloud).accepted
        assert cloud.placement.holding(consumer) == Holding(None, None)
        assert changes.write(of(consumer, None, wanted, None), cloud).accepted
        before = cloud.placement.holding(consumer)
        assert before == Holding(wanted, 1)


def test_a_replace_at_another_generation_is_refused(on_both):
    consumer, cloud = on_both.consumer(WRONG), on_both.cloud
    holding = cloud.placement.holding(consumer)
    before = on_both.rows()
    for generation in (holding.generation + 1, None):
        reply = changes.write(of(consumer, holding.allocations, None, generation), cloud)
        assert (reply.accepted, reply.definite, reply.conflict) == (False, True, True)
        assert "generation" in in_words(reply.reason)
        assert reply.request_id.startswith("req-")
    assert on_both.rows()["allocations"] == before["allocations"]


@pytest.mark.parametrize(
    ("state", "version", "fate"),
    [
        (None, {"c": 3}, Fate.UNWRITTEN),
        (ALLOCATED, {"c": 4}, Fate.WRITTEN),
        (ALLOCATED, {"c": 5}, Fate.FOREIGN),
        (ALLOCATED, {"c": 3}, Fate.FOREIGN),
        (None, {"c": 4}, Fate.FOREIGN),
        (replace(ALLOCATED, user="another"), {"c": 4}, Fate.FOREIGN),
    ],
)
def test_only_the_version_that_our_write_leaves_proves_it_ours(state, version, fate):
    change = of("c", None, ALLOCATED, 3)
    assert changes.fate(change, Found(Held({"c": state}), version)) is fate


@pytest.mark.parametrize(
    ("reply", "definite", "reason"),
    [
        (Reply(409, {"errors": [{"detail": "No room."}]}), True, "No room."),
        (Reply(409, {}), True, "HTTP 409"),
        (Reply(400, "<html>no</html>"), True, "HTTP 400"),
        (Reply(200, {}), False, "HTTP 200"),
        (Reply(500, ""), False, "HTTP 500"),
        (Reply(503, "<html>Busy</html>"), False, "HTTP 503"),
    ],
)
def test_what_is_not_accepted_says_whether_that_is_definite(reply, definite, reason):
    asked = []
    with answering(ROOT | {"PUT /allocations/c": reply}, asked) as url:
        found = changes.write(of("c", ALLOCATED, None, 4), cloud_at(url))
    assert (found.accepted, found.definite) == (False, definite)
    assert in_words(found.reason) == reason
    [put] = [request for request in asked if request.line.startswith("PUT")]
    assert put.body == {
        "allocations": {},
        "project_id": "a-project",
        "user_id": "a-user",
        "consumer_generation": 4,
    }


@pytest.mark.parametrize("status", [401, 403])
def test_credentials_that_are_refused_at_a_write_stop_the_run(status):
    reply = Reply(status, {"errors": [{"detail": "Go away."}]})
    with answering(ROOT | {"PUT /allocations/c": reply}) as url, pytest.raises(AccessDenied):
        changes.write(of("c", None, ALLOCATED, None), cloud_at(url))


def test_a_placement_without_consumer_generations_is_not_written_to():
    asked = []
    replies = {"GET /": Reply(200, {"versions": [{"id": "v1.0", "max_version": "1.27"}]})}
    with answering(replies, asked) as url, pytest.raises(MicroversionTooOld):
        changes.write(of("c", None, ALLOCATED, None), cloud_at(url))
    assert {request.line for request in asked} == {"GET /"}


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
    assert small.cloud.placement.holding(consumer).allocations == held(plan.steps[0])[1]


def test_a_plan_made_after_it_got_stuck_is_written_too(small_on):
    small = small_on("upstream")
    assert stuck(small, small.consumer(MISSING))
    plan = small.plan(MISSING)
    assert set(plan.steps[0].changes[0].version.values()) == {None}
    assert small.apply(plan)[small.consumer(MISSING)].result == "done"


@pytest.mark.parametrize("placement", ["upstream", "trueup"])
def test_allocations_that_were_deleted_with_sql_are_made_again(small_on, placement):
    """The row of the consumer is left, with its generation, which Placement does not tell."""
    small = small_on(placement)
    consumer = small.consumer(MISSING)
    plan = small.plan(MISSING)
    wanted = emptied(small, plan, writes=1)
    settled = small.apply(plan)[consumer]
    assert (settled.result, settled.versions) == ("done", ({consumer: 2},))
    assert small.cloud.placement.holding(consumer) == Holding(wanted, 2)


@pytest.mark.parametrize("left", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("placement", ["upstream", "trueup"])
def test_both_claims_of_a_resize_are_made_again_where_rows_of_consumers_are_left(
    small_on, placement, left
):
    """Their generations differ, and a refusal does not say which consumer's it names."""
    small = small_on(placement)
    both = (small.consumer(MISSING), small.consumer(WRONG))
    mine = small.cloud.placement.holding(both[1]).allocations
    for consumer, is_left, writes in zip(both, left, (1, 3), strict=True):
        held_now = small.cloud.placement.holding(consumer)
        for _ in range(writes):
            before, generation = held_now.allocations, held_now.generation
            assert changes.write(of(consumer, before, mine, generation), small.cloud).accepted
            held_now = small.cloud.placement.holding(consumer)
        small.sql("placement", "DELETE FROM allocations WHERE consumer_id = ?", consumer)
        if not is_left:
            small.sql("placement", "DELETE FROM consumers WHERE uuid = ?", consumer)
    change = Change(
        AllocationsOf(both),
        Held(dict.fromkeys(both)),
        Held(dict.fromkeys(both, mine)),
        dict.fromkeys(both),
    )
    intended = []
    assert changes.write(change, small.cloud, intended.append).accepted
    [version] = intended
    assert [version[one] is not None for one in both] == list(left)
    for one in both:
        assert small.cloud.placement.holding(one) == Holding(mine, (version[one] or 0) + 1)


def emptied(small: Small, plan: Plan, writes: int = 2) -> Allocations:
    """Allocations that were written so often, then deleted with SQL; what the plan gives."""
    [step] = plan.steps
    [consumer], wanted = step.consumers, held(step)[1]
    for generation in (None, *range(1, writes)):
        body = {
            "allocations": {one: {"resources": dict(row)} for one, row in wanted.amounts.items()},
            "project_id": wanted.project,
            "user_id": wanted.user,
            "consumer_generation": generation,
        }
        assert small.call("PUT", f"/allocations/{consumer}", body).status_code == 204
    small.sql("placement", "DELETE FROM allocations WHERE consumer_id = ?", consumer)
    return wanted


class Killed(BaseException):
    """Stands for the end of the process: nothing after it is done."""


def killed_at(small: Small, plan: Plan, monkeypatch, write: int, made: bool) -> None:
    """An apply is killed at its nth write, when Placement has made it or has not."""
    send, sent = Placement.send, []

    def sending(self: Placement, *request: Any) -> Any:
        sent.append(request)
        if len(sent) == write:
            if made:
                assert send(self, *request).status_code == 204
            raise Killed
        return send(self, *request)

    with monkeypatch.context() as patched:
        patched.setattr(Placement, "send", sending)
        with pytest.raises(Killed):
            small.apply(plan)


@pytest.mark.parametrize("then", ["apply", "undo"])
@pytest.mark.parametrize("made", [True, False], ids=["made", "not made"])
@pytest.mark.parametrize("placement", ["upstream", "trueup"])
def test_a_write_at_the_generation_that_a_refusal_named_is_found_after_a_kill(
    small_on, monkeypatch, placement, made, then
):
    small = small_on(placement)
    plan, before = small.plan(MISSING), small.ledger()
    wanted, consumer = emptied(small, plan), small.consumer(MISSING)
    killed_at(small, plan, monkeypatch, 2, made)
    if then == "apply":
        assert small.apply(plan)[consumer].result == "done"
        assert small.cloud.placement.holding(consumer) == Holding(wanted, 3), "written once"
    undone = undo(small, plan.id)
    assert [one.result for one in undone.values()] == ["done"] * (made or then == "apply")
    assert small.ledger() == before


@pytest.mark.parametrize("status", [500, 503])
def test_such_a_write_that_was_made_and_is_answered_badly_is_done(small, monkeypatch, status):
    plan = small.plan(MISSING)
    emptied(small, plan)
    send, sent = Placement.send, []

    def sending(self: Placement, *request: Any) -> Any:
        sent.append(request)
        response = send(self, *request)
        return Answer(status) if len(sent) == 2 else response

    monkeypatch.setattr(Placement, "send", sending)
    assert small.apply(plan)[small.consumer(MISSING)].result == "done"
    assert len(sent) == 2


def test_such_a_write_is_taken_back_if_the_next_change_of_its_step_is_refused(small):
    plan = small.plan(MISSING)
    emptied(small, plan)
    [step] = plan.steps
    [given] = step.changes
    other = of(small.consumer(WRONG), None, None, None)
    holding = small.cloud.placement.holding(small.consumer(WRONG))
    amounts = {one: {"VCPU": 100_000} for one in holding.allocations.amounts}
    after = replace(holding.allocations, amounts=amounts)
    too_much = structs.replace(
        other, before=Held({small.consumer(WRONG): holding.allocations}),
        after=Held({small.consumer(WRONG): after}),
        version={small.consumer(WRONG): holding.generation},
    )  # fmt: skip
    whole = structs.replace(step, changes=(given, too_much))
    [outcome] = small.apply(replace(plan, steps=(whole,))).values()
    assert outcome.result == "refused"
    assert small.cloud.placement.holding(small.consumer(MISSING)) == Holding(None, None)


def test_what_somebody_else_writes_while_such_a_write_is_under_way_is_not_ours(small, monkeypatch):
    """The same content, at a generation that our write does not leave."""
    plan = small.plan(MISSING)
    wanted, consumer = emptied(small, plan), small.consumer(MISSING)
    killed_at(small, plan, monkeypatch, 2, made=True)
    rewritten(small, consumer)
    outcome = small.apply(plan)[consumer]
    assert outcome.result == "refused"
    assert "another client has already made this change" in in_words(outcome.reason)
    assert small.cloud.placement.holding(consumer) == Holding(wanted, 4)


def test_getting_past_a_stuck_consumer_takes_nothing_from_who_filled_it(small_on):
    small = small_on("upstream")
    consumer = small.consumer(MISSING)
    plan = small.plan(MISSING)
    assert stuck(small, consumer)
    [provider] = held(plan.steps[0])[1].amounts
    theirs = {
        "allocations": {provider: {"resources": {"VCPU": 1}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": 0,
    }
    assert small.call("PUT", f"/allocations/{consumer}", theirs).status_code == 204
    assert refused(small, plan).startswith("its allocations are not what they were")


def exchanged(plan: Plan) -> Plan:
    """One step that changes all the consumers of a plan at once."""
    states = [change for step in plan.steps for change in step.changes]
    target = AllocationsOf(tuple(sorted(one for step in plan.steps for one in step.consumers)))
    change = Change(
        target,
        Held({key: row for one in states for key, row in one.before.by_consumer.items()}),
        Held({key: row for one in states for key, row in one.after.by_consumer.items()}),
        {key: row for one in states for key, row in one.version.items()},
    )
    guards = tuple(guard for step in plan.steps for guard in step.guards)
    return replace(plan, steps=(step_of((change,), guards, ("all-at-once",)),))


def test_several_consumers_are_written_at_once_or_not_at_all(on_both):
    plan = exchanged(on_both.plan())
    [step] = plan.steps
    assert len(step.consumers) == 4
    [outcome] = on_both.apply(plan).values()
    assert outcome.result == "done", outcome.reason
    holding = on_both.cloud.placement.holding
    [change] = step.changes
    for consumer, after in change.after.by_consumer.items():
        assert holding(consumer).allocations == after
        assert outcome.versions[0][consumer] == holding(consumer).generation
    assert on_both.plan().steps == ()


def test_of_several_consumers_one_that_was_written_since_refuses_all(on_both):
    plan = exchanged(on_both.plan())
    rewritten(on_both, on_both.consumer(WRONG))
    assert "were written since" in refused(on_both, plan)
