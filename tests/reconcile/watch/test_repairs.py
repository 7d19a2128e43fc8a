# SPDX-License-Identifier: Apache-2.0
"""What stops repairs, and what may be written now: values in, values out."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.reconcile.page.paging import seen
from tests.reconcile.plan.policies import in_force
from tests.reconcile.planning import BROKEN, planned
from tests.reconcile.watch.watching import at, seen_at
from trueup.reconcile.plan.automatic import Terms
from trueup.reconcile.plan.rulings import rulings_of
from trueup.reconcile.watch.memory import Memory, after_round
from trueup.reconcile.watch.repairs import (
    Repairs,
    Spent,
    allowed,
    announced_first,
    candidates,
    hosts_of,
    is_announced,
    why_stop,
)

TERMS = Terms(rounds=3, per_hour=2, per_day=5, findings_share=2.0, pauses=(Path("/pause"),))
RIGHT = "cell1\n  host h1 VCPU=8 MEMORY_MB=8192 DISK_GB=100\n"
PLAN, SEEN = planned(), seen(BROKEN)
RELEASE, ADDITION, MOVE = PLAN.findings
AUTOMATIC = rulings_of(PLAN, in_force('default = "automatic"'))


def after(*rounds: str, every: int = 10) -> tuple:
    """The last of these observations, and what is remembered after all of them."""
    memory = Memory()
    for number, text in enumerate(rounds):
        last = seen_at(text, number * every)
        memory = after_round(memory, last.audit, last.facts.cells, 1.0)
    return last, memory


@pytest.mark.parametrize(
    ("spent", "minutes", "room"),
    [
        ((), 0, (2, 5)),
        (((0, 2),), 59, (0, 3)),
        (((0, 2),), 60, (2, 3)),
        (((0, 2), (60, 2)), 119, (0, 1)),
        (((0, 2), (60, 2), (120, 2)), 1439, (2, 0)),
        (((0, 2), (60, 2), (120, 2)), 1440, (2, 1)),
        # The clock was set back: what lies ahead counts.
        (((600, 2),), 0, (0, 3)),
    ],
)
def test_a_budget_is_of_the_last_hour_and_of_the_last_day(spent, minutes, room):
    state = Repairs(spent=tuple(Spent(at(when), subjects) for when, subjects in spent))
    assert state.room(TERMS, at(minutes)) == room


def test_what_was_spent_counts_from_the_end_of_its_run():
    state = Repairs(spent=Repairs().reserving(2, at(0)))
    state = replace(state, spent=state.until(at(50)))
    assert state.room(TERMS, at(109)) == (0, 3)
    assert state.until(at(40)) == state.spent, "a clock that is set back frees nothing"


def test_a_finding_is_repaired_when_enough_rounds_had_the_same():
    for rounds in (1, 2):
        last, memory = after(*(BROKEN,) * rounds)
        assert candidates(last.audit, memory, Repairs(), TERMS) == ()
    last, memory = after(BROKEN, BROKEN, BROKEN)
    found = candidates(last.audit, memory, Repairs(), TERMS)
    assert {row.id for row in found} == {RELEASE.id, ADDITION.id}, "and it is of a proven defect"
    other = BROKEN.replace("holds old h1 VCPU=2", "holds old h1 VCPU=1")
    last, memory = after(other, other, BROKEN)
    assert RELEASE.id not in {row.id for row in candidates(last.audit, memory, Repairs(), TERMS)}


def test_what_is_announced_comes_first_and_only_with_the_same_evidence():
    _, memory = after(BROKEN, BROKEN, BROKEN)
    evidence = {sighting.id: sighting.evidence for sighting in memory.sightings}
    state = Repairs(announced={ADDITION.id: evidence[ADDITION.id]})
    [row] = announced_first(PLAN, state, evidence).findings
    assert row.id == ADDITION.id
    assert announced_first(PLAN, state, {ADDITION.id: "other"}) == PLAN
    one = replace(PLAN, findings=(ADDITION,))
    assert is_announced(one, state, evidence)
    assert not is_announced(one, state, {ADDITION.id: "other"})
    assert not is_announced(PLAN, state, evidence)


def test_what_came_back_stops_everything_until_a_person_ends_it():
    last, memory = after(BROKEN, BROKEN, RIGHT, BROKEN)
    reason = why_stop(last, memory, Repairs(), TERMS)
    assert reason.name == "repair-came-back"
    released = Repairs(released_at=at(30))
    assert why_stop(last, memory, released, TERMS) is None
    last, memory = after(BROKEN, BROKEN, RIGHT, BROKEN, BROKEN, BROKEN)
    assert candidates(last.audit, memory, released, TERMS) == (), "it is left to people"


def test_what_comes_back_before_the_next_round_came_back_too():
    last, memory = after(BROKEN, BROKEN, BROKEN)
    state = Repairs(repaired={RELEASE.id: at(20)})
    assert why_stop(last, memory, state, TERMS).name == "repair-came-back"
    assert why_stop(last, memory, replace(state, released_at=at(21)), TERMS) is None
    assert RELEASE.id not in {row.id for row in candidates(last.audit, memory, state, TERMS)}


def test_repairs_are_forgotten_after_two_weeks():
    state = Repairs(repaired={"a": at(0), "b": at(10)})
    assert set(state.repairing(["c"], at(5) + timedelta(days=14))) == {"b", "c"}


def test_too_many_findings_and_incomplete_evidence_stop_everything():
    last, memory = after(BROKEN)
    found, consumers = len(last.audit.findings), len(last.facts.consumers)
    at_most = replace(TERMS, findings_share=found / consumers)
    assert why_stop(last, memory, Repairs(), at_most) is None
    too_many = replace(TERMS, findings_share=found / consumers - 0.001)
    assert why_stop(last, memory, Repairs(), too_many).name == "repair-too-many"
    silent, memory = after(f"{RIGHT}cell2 silent\n")
    assert why_stop(silent, memory, Repairs(), TERMS).name == "repair-evidence-incomplete"


def test_what_is_written_is_automatic_proven_of_one_host_and_within_the_budget():
    both = allowed(PLAN, AUTOMATIC, SEEN.facts, 2)
    assert {row.id for row in both.findings} == {RELEASE.id, ADDITION.id}
    assert hosts_of(both, SEEN.facts) == ("h1",)
    assert len(allowed(PLAN, AUTOMATIC, SEEN.facts, 1).findings) == 1
    assert allowed(PLAN, AUTOMATIC, SEEN.facts, 0).name == "repair-budget-spent"
    asked = rulings_of(PLAN, in_force('default = "ask"'))
    assert "repair-ruled-out" in allowed(PLAN, asked, SEEN.facts, 9).names
    assert "repair-without-rule" in allowed(PLAN, {}, SEEN.facts, 9).names


def test_hosts_are_repaired_one_at_a_time():
    text = BROKEN.replace("server old on h1", "server old on h2").replace("old h1", "old h2")
    plan, facts = planned(text), seen(text).facts
    part = allowed(plan, rulings_of(plan, in_force('default = "automatic"')), facts, 9)
    assert len(part.findings) == 1
    assert len(hosts_of(part, facts)) == 1
