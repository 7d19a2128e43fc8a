# SPDX-License-Identifier: Apache-2.0
"""Plans: what they are made of, and in which order."""

from dataclasses import replace
from datetime import timedelta

import pytest
from msgspec import structs

from tests.reconcile.observing import MINUTE, confirmed_as, confirmed_by, gains, held, plan_of
from tests.reconcile.planning import BROKEN, audited, facts_of, planned
from tests.scenarios.drafting import NOW, OWNER, uuid_of
from trueup.reconcile.audit import observation
from trueup.reconcile.facts import Allocations, Holding
from trueup.reconcile.plan import (
    LimitExceeded,
    Plan,
    PlanForeign,
    PlanStale,
    consumers_of,
    in_reverse,
    make_plan,
    refuse_foreign,
    refuse_too_large,
    refuse_unfit,
)
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.steps import AllocationsOf, Step
from trueup.reconcile.verdicts import AuditOptions, Subject

HOUR = timedelta(hours=1)


def consumers(plan: Plan) -> list[str]:
    return [one for step in plan.steps for one in step.consumers]


def test_a_plan_says_what_it_was_made_from():
    plan = planned()
    assert plan.findings == audited(BROKEN).findings
    assert (plan.made_at, plan.first_at) == (NOW, NOW - MINUTE)
    assert plan.cells == (uuid_of("cell1"),)
    assert plan.consumers == 2
    assert {reason for step in plan.steps for reason in step.because} == {
        one.id for one in plan.findings
    }


def test_what_releases_comes_before_what_needs_room():
    steps = planned().steps
    assert steps[0].consumers[0] == uuid_of("old")
    assert [bool(gains(*held(step))) for step in steps] == [False, True, True]
    assert consumers(planned())[1:] == sorted([uuid_of("web"), uuid_of("db")])


def reasons(plan: Plan) -> dict[str, str]:
    return {one.finding.subject.uuid: in_words(one.reason) for one in plan.declined}


def test_a_consumer_that_changed_since_the_second_observation_gets_no_step():
    facts = facts_of(BROKEN)
    other = Holding(Allocations({uuid_of("h1"): {"VCPU": 9}}, **OWNER), 2)
    plan = make_plan(confirmed_by(facts), {**facts.holdings, uuid_of("old"): other})
    assert uuid_of("old") not in consumers(plan)
    assert len(plan.steps) == len(plan.findings) == 2
    assert reasons(plan) == {
        uuid_of("old"): "what it holds has changed since the second observation"
    }


def test_a_missing_one_that_holds_something_by_now_gets_no_step():
    facts = facts_of(BROKEN)
    filled = Holding(Allocations({uuid_of("h1"): {"VCPU": 2}}, **OWNER), 1)
    plan = make_plan(confirmed_by(facts), {**facts.holdings, uuid_of("web"): filled})
    assert uuid_of("web") not in consumers(plan)
    assert reasons(plan).keys() == {uuid_of("web")}


def test_a_consumer_whose_holding_was_not_read_gets_no_step():
    plan = make_plan(confirmed_by(facts_of(BROKEN)), {})
    assert plan.steps == plan.findings == ()
    assert set(reasons(plan).values()) == {"what it holds was not read again"}


def test_a_consumer_that_cannot_be_read_concerns_no_other():
    facts, old = facts_of(BROKEN), uuid_of("old")
    rest = {one: row for one, row in facts.holdings.items() if one != old}
    plan = make_plan(confirmed_by(facts), rest, unread={old: "Placement answers HTTP 500 for it"})
    assert len(plan.steps) == len(plan.findings) == 2
    assert reasons(plan) == {
        old: f"what {old} holds could not be read again: Placement answers HTTP 500 for it"
    }


def test_remedies_that_conflict_are_refused_by_name():
    """Two defects that speak of one consumer: the step of the first is kept."""
    facts = facts_of(BROKEN)
    seen = observation(facts, AuditOptions())
    orphan = seen.audit.findings[0]
    twice = replace(seen, audit=replace(seen.audit, findings=(orphan, orphan)))
    plan = make_plan(confirmed_as(twice), facts.holdings)
    assert plan.findings == (orphan,)
    assert len(plan.steps) == 1
    [declined] = plan.declined
    assert in_words(declined.reason).startswith(f"it conflicts with {orphan.id}")


@pytest.mark.parametrize("kind", ["provider", "host", "port"])
def test_a_subject_that_is_no_consumer_needs_no_holding(kind):
    finding = replace(audited(BROKEN).findings[0], subject=Subject(kind, "some-uuid"))
    assert consumers_of([finding]) == ()
    assert consumers_of([replace(finding, consumers=("b", "a"))]) == ("a", "b")


def test_no_finding_gives_an_empty_plan():
    plan = plan_of(facts_of(BROKEN), lambda _: False)
    assert plan.steps == plan.findings == ()


def test_a_plan_has_the_name_of_its_content():
    plan = planned()
    assert plan.id == planned().id
    assert plan.id.startswith("20261121T120000-")
    assert len({plan.id, replace(plan, consumers=3).id, replace(plan, steps=()).id}) == 3


def test_an_inverse_plan_names_what_it_undoes():
    plan = planned()
    inverse = in_reverse(plan, reversed(plan.steps), "a-run")
    assert inverse.undoes == "a-run"
    assert inverse.id != plan.id
    assert (inverse.cells, inverse.consumers) == (plan.cells, plan.consumers)


@pytest.mark.parametrize(
    ("hours", "stale"), [(0, False), (1, False), (2, True), (-1, False), (-2, True)]
)
def test_a_plan_may_be_so_old_and_no_older(hours, stale):
    """One that seems to be of the future neither: the clock was set back, or the plan edited."""
    plan = planned()
    now = plan.made_at + timedelta(hours=hours)
    if not stale:
        refuse_unfit(plan, plan.cells, now, HOUR)
        return
    with pytest.raises(PlanStale) as refused:
        refuse_unfit(plan, plan.cells, now, HOUR)
    assert (refused.value.age, refused.value.age_max) == (hours * HOUR, HOUR)


@pytest.mark.parametrize("found", [(), ("another",), (uuid_of("cell1"), "another")])
def test_a_plan_for_other_cells_is_refused(found):
    plan = planned()
    with pytest.raises(PlanForeign) as refused:
        refuse_foreign(plan, found)
    assert refused.value.planned == (uuid_of("cell1"),)
    assert refused.value.found == tuple(sorted(found))
    with pytest.raises(PlanForeign):
        refuse_unfit(plan, found, plan.made_at, HOUR)


def test_cells_may_come_in_any_order():
    plan = replace(planned(), cells=("a", "b"))
    refuse_foreign(plan, ["b", "a"])


def touching(number: int) -> tuple[Step, ...]:
    """Steps that touch so many consumers."""
    [step, *_] = planned().steps
    change = structs.replace(
        step.changes[0], target=AllocationsOf(tuple(f"c{n}" for n in range(number)))
    )
    return (structs.replace(step, changes=(change,)),)


@pytest.mark.parametrize(("in_cloud", "limit"), [(0, 25), (2500, 25), (2600, 26), (100_000, 1000)])
def test_invariant_14_the_limit_is_25_subjects_or_1_percent_of_consumers(in_cloud, limit):
    plan = replace(planned(), consumers=in_cloud, steps=touching(limit))
    assert plan.limit == limit
    refuse_too_large(plan, None)
    with pytest.raises(LimitExceeded) as refused:
        refuse_too_large(replace(plan, steps=touching(limit + 1)), None)
    assert (refused.value.subjects, refused.value.limit) == (limit + 1, limit)


def test_invariant_14_a_limit_by_name_raises_and_lowers_it():
    plan = replace(planned(), steps=touching(30))
    refuse_too_large(plan, 30)
    with pytest.raises(LimitExceeded):
        refuse_too_large(plan, 29)
    with pytest.raises(LimitExceeded):
        refuse_too_large(planned(), 0)
