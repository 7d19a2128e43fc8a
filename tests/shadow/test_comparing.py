# SPDX-License-Identifier: Apache-2.0
from itertools import combinations

import pytest

from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.shadow.answers import Answer
from trueup.shadow.comparing import Outcome, Services, compare
from trueup.shadow.reads import Read

READ = Read("/usages?project_id=x", "1.39")
CANDIDATES = Read("/allocation_candidates?resources=VCPU%3A1", "1.39")


class Scripted:
    """Answers with these bodies, one after the other, and then with the last one for ever."""

    def __init__(self, *bodies):
        self.bodies, self.asked = list(bodies), []

    def ask(self, read):
        self.asked.append(read)
        body = self.bodies.pop(0) if self.bodies[1:] else self.bodies[0]
        if isinstance(body, Exception):
            raise body
        return Answer(200, body, 0.5)


def compared(upstream, trueup, read=READ, pauses=None):
    pauses = [] if pauses is None else pauses
    return compare(read, Services(upstream, trueup, lambda: pauses.append(1)))


def test_equal_answers_are_asked_for_once():
    upstream, trueup = Scripted({"used": 1}), Scripted({"used": 1})
    found = compared(upstream, trueup)
    assert (found.outcome, found.seconds) == (Outcome.SAME, (0.5, 0.5))
    assert len(upstream.asked) == len(trueup.asked) == 1


def test_an_answer_that_stays_different_is_a_difference():
    found = compared(Scripted({"used": 1}), Scripted({"used": 2}))
    assert found.outcome is Outcome.DIFFERENT
    assert [place.where for place in found.differences] == ["used"]


@pytest.mark.parametrize(
    ("upstream", "trueup"),
    [
        # A write came between upstream's answer and ours.
        (({"generation": 1}, {"generation": 2}), ({"generation": 2},)),
        # Ours was read before a write, and again after it.
        (({"generation": 2},), ({"generation": 1}, {"generation": 2})),
        # One write after the other.
        (
            ({"generation": 1}, {"generation": 3}, {"generation": 3}),
            ({"generation": 2}, {"generation": 2}, {"generation": 3}),
        ),
    ],
)
def test_a_ledger_that_moves_is_no_difference(upstream, trueup):
    assert compared(Scripted(*upstream), Scripted(*trueup)).outcome is Outcome.MOVED


def test_a_ledger_that_never_rests_cannot_be_compared():
    upstream = Scripted(*({"generation": number} for number in range(20)))
    found = compared(upstream, Scripted({"generation": -1}))
    assert found.outcome is Outcome.NOT_COMPARED
    assert "changed at every attempt" in found.reason


def test_only_candidates_are_given_time_to_see_a_write():
    pauses = []
    compared(Scripted({"a": 1}), Scripted({"a": 2}), READ, pauses)
    assert not pauses
    found = compared(Scripted({"a": 1}), Scripted({"a": 0}, {"a": 1}), CANDIDATES, pauses)
    assert (found.outcome, pauses) == (Outcome.MOVED, [1])


@pytest.mark.parametrize("error", [Unreachable("upstream", "gone"), AccessDenied("upstream", "no")])
def test_a_silent_service_is_told_as_such(error):
    found = compared(Scripted(error), Scripted({}))
    assert found.outcome is Outcome.NOT_COMPARED
    assert found.reason.startswith("upstream: ")


class Choosing:
    """A service that chooses its own candidates where there is a limit."""

    def __init__(self, every, limited):
        self.every, self.limited = every, limited

    def ask(self, read):
        names = self.limited if "limit=" in read.path else self.every
        return Answer(200, {"allocation_requests": list(names), "provider_summaries": {}}, 0.1)


@pytest.mark.parametrize(
    ("ours", "outcome"),
    [
        (Choosing("abcd", "cd"), Outcome.SAME),
        (Choosing("abcd", "c"), Outcome.DIFFERENT),
        (Choosing("abcd", "cz"), Outcome.DIFFERENT),
        (Choosing("abc", "bc"), Outcome.DIFFERENT),
    ],
)
def test_with_a_limit_each_may_choose(ours, outcome):
    read = Read("/allocation_candidates?resources=VCPU%3A1&limit=2", "1.39")
    assert compared(Choosing("abcd", "ab"), ours, read).outcome is outcome


class Moving:
    """A service on a ledger that loses its last candidate at these questions to it.

    It chooses the first ones, or the last ones, where there is a limit.
    """

    def __init__(self, ledger, first):
        self.ledger, self.first = ledger, first

    def ask(self, read):
        self.ledger["asked"] += 1
        lost = sum(1 for question in self.ledger["lost_at"] if question < self.ledger["asked"])
        names = "abcdefgh"[: 8 - lost]
        if "limit=" in read.path:
            names = names[:2] if self.first else names[-2:]
        return Answer(200, {"allocation_requests": list(names), "provider_summaries": {}}, 0.1)


@pytest.mark.parametrize("lost_at", combinations(range(1, 12), 2))
def test_writes_between_the_limited_and_the_whole_answer_are_no_difference(lost_at):
    read = Read("/allocation_candidates?resources=VCPU%3A1&limit=2", "1.39")
    ledger = {"asked": 0, "lost_at": lost_at}
    found = compared(Moving(ledger, True), Moving(ledger, False), read)
    assert found.outcome in (Outcome.SAME, Outcome.MOVED)
