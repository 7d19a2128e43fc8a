# SPDX-License-Identifier: Apache-2.0
"""After any answer but success the target is read again, and that decides what became of a write.

Placement is real; what is changed is only the answer on its way back.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from tests.reconcile.runs.test_undo import undo
from tests.reconcile.small import Small
from trueup.reconcile import changes
from trueup.reconcile.changes.target import CONCURRENT_UPDATE
from trueup.reconcile.plan import Plan
from trueup.reconcile.reasons import because
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.runs import applied, undone
from trueup.reconcile.runs.journal import Outcome
from trueup.reconcile.runs.journals import read
from trueup.reconcile.runs.one_change import ATTEMPTS
from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.sources.placement.client import Placement

WRONG, MISSING = "wrong-provider", "missing-allocation"
ORPHANED, RESIDUE = "orphaned-allocation", "evacuation-residue"
EVERY = (ORPHANED, RESIDUE, MISSING, WRONG)
Send = Callable[..., Any]


REQUEST_ID = "req-changed"


class Answer:
    """A response as a service might have given it: with its request id, or without."""

    def __init__(self, status: int, code: str = "", header: bool = True, body: bool = True) -> None:
        self.status_code = status
        self.url = "http://placement"
        self.headers = {"x-openstack-request-id": REQUEST_ID} if header else {}
        error = {"detail": f"answered {status}", "code": code}
        self._document = {"errors": [error | {"request_id": REQUEST_ID} if body else error]}

    def json(self) -> Any:
        return self._document


def lost(*_: Any) -> Any:
    raise Unreachable("Placement", "the connection was lost")


def answering(monkeypatch, written: bool, answer: Callable[[], Any], times: int = 1) -> list[str]:
    """The first writes are made or not, and answered so; returns the paths that were written to."""
    send, sent = Placement.send, []

    def changed(self: Placement, *request: Any) -> Any:
        sent.append(request[1])
        if len(sent) > times:
            return send(self, *request)
        if written:
            assert send(self, *request).status_code == 204
        return answer()

    monkeypatch.setattr(Placement, "send", changed)
    return sent


ANSWERS = {
    "409": lambda: Answer(409, CONCURRENT_UPDATE),
    "500": lambda: Answer(500),
    "503": lambda: Answer(503),
    "200": lambda: Answer(200),
    "lost": lost,
}


NOT_PLACEMENTS = {
    "a proxy's 409": lambda: Answer(409, header=False, body=False),
    "a status that a proxy changed": lambda: Answer(409, body=False),
    **{name: answer for name, answer in ANSWERS.items() if name != "409"},
}


@pytest.mark.parametrize("defect", EVERY)
@pytest.mark.parametrize("answer", NOT_PLACEMENTS)
def test_a_committed_write_is_done_whatever_was_answered(small, monkeypatch, answer, defect):
    before, plan = small.ledger(), small.plan(defect)
    sent = answering(monkeypatch, True, NOT_PLACEMENTS[answer])
    [outcome] = small.apply(plan).values()
    assert (outcome.result, outcome.contested) == ("done", False), outcome.reason
    assert len(sent) == 1, "it is not sent again"
    assert small.plan(defect).steps == ()
    [undone] = undo(small, plan.id).values()
    assert undone.result == "done"
    assert small.ledger() == before


@pytest.mark.parametrize("defect", EVERY)
def test_a_committed_write_that_placement_refuses_is_done_and_may_be_somebody_elses(
    small, monkeypatch, defect
):
    """As behind a proxy that sends a request twice: Placement refuses the second."""
    before, plan = small.ledger(), small.plan(defect)
    sent = answering(monkeypatch, True, ANSWERS["409"])
    [outcome] = small.apply(plan).values()
    assert (outcome.result, outcome.contested) == ("done", True), outcome.reason
    assert len(sent) == 1, "it is not sent again"
    repaired = small.ledger()
    assert undo(small, plan.id) == {}
    assert small.ledger() == repaired, "nobody's work is lost"
    [undone] = undo(small, plan.id, plan.steps[0].id).values()
    assert undone.result == "done"
    assert small.ledger() == before


@pytest.mark.parametrize("defects", [[one] for one in EVERY] + [[MISSING, WRONG]])
def test_invariant_10_of_two_runs_at_once_only_that_which_wrote_takes_it_back(
    small, monkeypatch, defects
):
    """The other run writes the same while our first request is on its way."""
    before, plan = small.ledger(), small.plan(*defects)
    elsewhere, send, rival = small.folder / "elsewhere", Placement.send, []

    def overtaken(self: Placement, *request: Any) -> Any:
        if not rival:
            rival.append("first")
            with applied(plan, small.cloud, elsewhere) as run:
                rival[:] = [outcome for _, outcome in run.outcomes]
        return send(self, *request)

    monkeypatch.setattr(Placement, "send", overtaken)
    outcomes = list(small.apply(plan).values())
    assert [(one.result, one.contested) for one in rival] == [("done", False)] * len(defects)
    assert outcomes[0].contested
    assert all(
        "another client has already made this" in in_words(one.reason) for one in outcomes[1:]
    )
    repaired = small.ledger()
    assert undo(small, plan.id) == {}
    assert small.ledger() == repaired
    with undone(plan.id, small.cloud, elsewhere) as run:
        assert {outcome.result for _, outcome in run.outcomes} == {"done"}
    assert small.ledger() == before


@pytest.mark.parametrize("defect", EVERY)
@pytest.mark.parametrize("answer", ["500", "503", "lost"])
def test_a_write_that_was_not_made_is_unknown_and_not_refused(small, monkeypatch, answer, defect):
    plan, before = small.plan(defect), small.rows()
    answering(monkeypatch, False, ANSWERS[answer])
    [outcome] = small.apply(plan).values()
    assert outcome.result == "unknown"
    assert small.rows() == before
    [outcome] = small.apply(plan).values()
    assert outcome.result == "done", "the next run writes it"


def test_a_slow_write_that_comes_later_is_found_by_undo(small, monkeypatch):
    before, plan = small.ledger(), small.plan(WRONG)
    with monkeypatch.context() as patched:
        answering(patched, False, lost)
        [outcome] = small.apply(plan).values()
    assert outcome.result == "unknown"
    small.write(plan.steps[0])
    [outcome] = undo(small, plan.id).values()
    assert outcome.result == "done"
    assert small.ledger() == before


def test_one_consumers_500_does_not_stop_the_others(small, monkeypatch):
    plan = small.plan()
    answering(monkeypatch, False, ANSWERS["500"])
    results = [outcome.result for outcome in small.apply(plan).values()]
    assert results == ["unknown", "done", "done", "done"]


def test_when_placement_is_gone_the_step_is_unknown_and_the_run_stops(small, monkeypatch):
    plan = small.plan()
    answering(monkeypatch, True, lost, times=100)
    holding = Placement.holding
    calls = []

    def gone_after(self: Placement, consumer: str) -> Any:
        calls.append(consumer)
        return holding(self, consumer) if len(calls) == 1 else lost()

    with monkeypatch.context() as patched:
        patched.setattr(Placement, "holding", gone_after)
        with pytest.raises(Unreachable):
            small.apply(plan)
    journal = read(plan.id, small.folder / "journal")
    assert journal.outcome_of(plan.steps[0]).result == "unknown"
    assert journal.outcome_of(plan.steps[1]) is None


def test_credentials_that_are_refused_stop_the_run_with_the_step_refused(small, monkeypatch):
    plan, before = small.plan(), small.rows()
    answering(monkeypatch, False, lambda: Answer(403), times=100)
    with pytest.raises(AccessDenied):
        small.apply(plan)
    assert read(plan.id, small.folder / "journal").outcome_of(plan.steps[0]).result == "refused"
    assert small.rows() == before


def test_a_foreign_write_right_after_ours_is_not_taken_for_ours(small, monkeypatch):
    """Accepted is done; the version that is kept is ours, so that an undo refuses the other's."""
    plan, consumer = small.plan(WRONG), small.consumer(WRONG)
    send = Placement.send

    def overtaken(self: Placement, *request: Any) -> Any:
        response = send(self, *request)
        rewritten(small, consumer)
        return response

    with monkeypatch.context() as patched:
        patched.setattr(Placement, "send", overtaken)
        [outcome] = small.apply(plan).values()
    assert outcome.result == "done"
    [undone] = undo(small, plan.id).values()
    assert undone.result == "refused"
    assert "written since" in in_words(undone.reason)


def rewritten(small: Small, consumer: str) -> None:
    holding = small.holding(consumer)
    rows = holding["allocations"].items()
    body = {name: holding[name] for name in ("project_id", "user_id", "consumer_generation")}
    body["allocations"] = {uuid: {"resources": row["resources"]} for uuid, row in rows}
    assert small.call("PUT", f"/allocations/{consumer}", body).status_code == 204


def test_an_answer_has_its_request_id_in_the_journal(small):
    plan = small.plan(WRONG)
    [outcome] = small.apply(plan).values()
    [request_id] = outcome.request_ids
    assert request_id.startswith("req-")


def two_in_one(plan: Plan) -> Plan:
    """One step with the changes of two."""
    first, second = plan.steps
    merged = structs.replace(
        first, changes=first.changes + second.changes, guards=first.guards + second.guards
    )
    return replace(plan, steps=(merged,))


def test_changes_of_one_step_are_all_written(small):
    before, plan = small.ledger(), two_in_one(small.plan(WRONG, ORPHANED))
    [outcome] = small.apply(plan).values()
    assert outcome.result == "done"
    assert len(outcome.versions) == 2
    assert small.plan(WRONG, ORPHANED).steps == ()
    [undone] = undo(small, plan.id).values()
    assert undone.result == "done"
    assert small.ledger() == before


def test_changes_of_one_step_are_all_taken_back_when_one_is_refused(small, monkeypatch):
    before, plan = small.ledger(), two_in_one(small.plan(WRONG, ORPHANED))
    send, sent = Placement.send, []

    def second_refused(self: Placement, *request: Any) -> Any:
        sent.append(request)
        return Answer(409) if len(sent) == 2 else send(self, *request)

    monkeypatch.setattr(Placement, "send", second_refused)
    [outcome] = small.apply(plan).values()
    assert (outcome.result, in_words(outcome.reason)) == ("refused", "answered 409")
    assert small.ledger() == before


def test_a_step_that_was_killed_half_way_is_completed(small):
    plan = two_in_one(small.plan(WRONG, ORPHANED))
    [step] = plan.steps
    with small.journal(plan) as journal:
        journal.intend(step)
        assert changes.write(step.changes[0], small.cloud).accepted
    [outcome] = small.apply(plan).values()
    assert outcome.result == "done"
    assert small.plan(WRONG, ORPHANED).steps == ()


def test_a_step_that_was_killed_half_way_is_taken_back_by_undo(small):
    before, plan = small.ledger(), two_in_one(small.plan(WRONG, ORPHANED))
    [step] = plan.steps
    with small.journal(plan) as journal:
        journal.intend(step)
        assert changes.write(step.changes[0], small.cloud).accepted
    with undone(plan.id, small.cloud, small.folder / "journal") as run:
        assert list(run.outcomes) == []
    [(taken_back, outcome)] = run.in_part
    assert (taken_back.id, outcome.result) == (step.id, "refused")
    assert in_words(outcome.reason) == "interrupted; what was written of it is taken back"
    with small.journal(plan) as journal:
        assert journal.outcome_of(step) == outcome
    assert small.ledger() == before


class Spoilt:
    """Placement, of which the second write is not carried out so many times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: int, times: int) -> None:
        self.sent, self.left, self.answer = 0, times, answer
        self.really = Placement.send
        monkeypatch.setattr(Placement, "send", lambda *request: self.send(*request))

    def send(self, placement: Placement, *request: Any) -> Any:
        self.sent += 1
        if self.sent == 1 or not self.left:
            return self.really(placement, *request)
        self.left -= 1
        return Answer(self.answer)


@pytest.mark.parametrize("answer", [500, 502, 503, 504])
def test_a_step_whose_second_write_is_answered_badly_once_is_written_whole(
    small, monkeypatch, answer
):
    before, plan = small.ledger(), two_in_one(small.plan(WRONG, ORPHANED))
    Spoilt(monkeypatch, answer, times=1)
    [outcome] = small.apply(plan).values()
    assert outcome.result == "done"
    assert small.plan(WRONG, ORPHANED).steps == ()
    [undone_step] = undo(small, plan.id).values()
    assert (undone_step.result, small.ledger()) == ("done", before)


def test_a_step_whose_second_write_is_never_answered_well_is_taken_back(small, monkeypatch):
    """That write may still come, so what became of the step is not known yet."""
    before, plan = small.ledger(), two_in_one(small.plan(WRONG, ORPHANED))
    Spoilt(monkeypatch, 503, times=ATTEMPTS)
    [outcome] = small.apply(plan).values()
    assert outcome.result == "unknown"
    assert in_words(outcome.reason) == (
        "answered 503; the write that was not answered may still come"
    )
    assert outcome.left == ()
    assert small.ledger() == before


def test_what_cannot_be_taken_back_is_named(small, monkeypatch):
    plan = two_in_one(small.plan(WRONG, ORPHANED))
    Spoilt(monkeypatch, 503, times=99)
    [outcome] = small.apply(plan).values()
    [step] = plan.steps
    written = f"allocations:{step.changes[0].target.consumers[0]}"
    assert (outcome.result, outcome.left) == ("unknown", (written,))
    assert f"not taken back: {written}" in in_words(outcome.reason)


def test_nothing_is_written_without_an_intent(small):
    plan = small.plan(WRONG)
    small.change_instance(WRONG, task_state="migrating")
    [outcome] = small.apply(plan).values()
    moving = because("instance-changed", what="task state", was="", found="migrating")
    assert outcome == Outcome(plan.steps[0].id, "refused", moving)
    assert read(plan.id, small.folder / "journal").intended_at(plan.steps[0]) is None
