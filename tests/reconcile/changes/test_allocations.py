# SPDX-License-Identifier: Apache-2.0
"""Allocations are written at the consumers' generations, several at once, on both Placements."""

from dataclasses import replace

import pytest

from tests.reconcile.observing import held
from tests.reconcile.small import Small
from tests.reconcile.sources.broken_server import VERSIONS, Reply, answering, client
from tests.reconcile.test_apply import refused, rewritten
from trueup.reconcile import changes
from trueup.reconcile.changes import Fate, Found
from trueup.reconcile.facts import Allocations, Holding
from trueup.reconcile.plan import Plan
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import AccessDenied, MicroversionTooOld
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
        assert "generation" in reply.reason
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
    assert (found.accepted, found.definite, found.reason) == (False, definite, reason)
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
    wanted = held(plan.steps[0])[1]
    body = {
        "allocations": {one: {"resources": dict(row)} for one, row in wanted.amounts.items()},
        "project_id": wanted.project,
        "user_id": wanted.user,
        "consumer_generation": None,
    }
    assert small.call("PUT", f"/allocations/{consumer}", body).status_code == 204
    small.sql("placement", "DELETE FROM allocations WHERE consumer_id = ?", consumer)
    settled = small.apply(plan)[consumer]
    assert (settled.result, settled.versions) == ("done", ({consumer: 2},))
    assert small.cloud.placement.holding(consumer) == Holding(wanted, 2)


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
