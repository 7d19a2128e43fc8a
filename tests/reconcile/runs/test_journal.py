# SPDX-License-Identifier: Apache-2.0
"""A journal is on disk before the write, and whole after any crash."""

import resource
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from tests.reconcile.planning import planned
from trueup.reconcile.reasons import because
from trueup.reconcile.runs.journal import (
    Journal,
    JournalDamaged,
    JournalFormatUnknown,
    JournalUnwritable,
    Origin,
    Outcome,
)
from trueup.reconcile.runs.journals import RunUnknown, applying, read, runs

PLAN = planned()
FIRST, SECOND, THIRD = PLAN.steps
RUN = f"{PLAN.id}-1"
OPERATOR = Origin("operator", "controller", "http://placement")


def opened(folder) -> AbstractContextManager[Journal]:
    return applying(PLAN, folder, OPERATOR)


def path_of(folder):
    return folder / f"{RUN}.jsonl"


def test_it_keeps_the_plan_and_who_applies_it_from_where(tmp_path):
    with opened(tmp_path):
        pass
    journal = read(RUN, tmp_path)
    assert (journal.run, journal.plan, journal.origin) == (RUN, PLAN, OPERATOR)
    assert journal.began_at == journal.ended_at
    assert stat.S_IMODE(path_of(tmp_path).stat().st_mode) == 0o600


def test_what_was_intended_and_recorded_is_there_when_the_run_goes_on(tmp_path):
    done = Outcome(FIRST.id, "done", versions=({"c": 4},), request_ids=("req-1",))
    refused = Outcome(SECOND.id, "refused", because("it-moved"))
    with opened(tmp_path) as journal:
        journal.intend(FIRST)
        journal.record(done)
        journal.record(refused)
        journal.intend(THIRD)
    with opened(tmp_path) as journal:
        assert [journal.outcome_of(step) for step in PLAN.steps] == [done, refused, None]
        assert [journal.fate_open(step) for step in PLAN.steps] == [False, False, True]
        assert [journal.intended_at(step) is None for step in PLAN.steps] == [False, True, False]
        assert journal.outcome_at(FIRST) >= journal.intended_at(FIRST) >= journal.began_at
        assert journal.in_place == ((FIRST, done),)
        assert journal.is_done(FIRST.id)
        assert not journal.finished


def test_a_step_that_is_unknown_is_open_until_its_outcome_is_known(tmp_path):
    with opened(tmp_path) as journal:
        journal.intend(FIRST)
        journal.record(Outcome(FIRST.id, "unknown", because("no-answer")))
        assert journal.fate_open(FIRST)
        journal.record(Outcome(FIRST.id, "done"))
        assert not journal.fate_open(FIRST)


@pytest.mark.parametrize("result", ["refused", "unknown"])
def test_a_step_that_is_attempted_again_is_open_whatever_the_first_attempt_said(tmp_path, result):
    with opened(tmp_path) as journal:
        journal.intend(FIRST)
        journal.record(Outcome(FIRST.id, result, because("the-first-time")))
        journal.intend(FIRST)
        assert journal.fate_open(FIRST)
    journal = read(RUN, tmp_path)
    assert (journal.outcome_of(FIRST), journal.outcome_at(FIRST)) == (None, None)
    assert journal.interrupted


def test_what_was_taken_back_is_no_longer_in_place(tmp_path):
    with opened(tmp_path) as journal:
        journal.record(Outcome(FIRST.id, "done"))
        journal.take_back(FIRST.id, "another-run", ({"c": 9},))
    journal = read(RUN, tmp_path)
    assert journal.in_place == ()
    assert journal.taken_back_by(FIRST) == "another-run"
    assert journal.as_left(FIRST).changes[0].version == {"c": 9}
    assert journal.as_left(SECOND) == SECOND


def test_an_intent_is_on_disk_before_anything_else_happens(tmp_path):
    with opened(tmp_path) as journal:
        journal.intend(FIRST)
        assert FIRST.id in path_of(tmp_path).read_text().splitlines()[-1]


def test_the_last_settling_counts(tmp_path):
    with opened(tmp_path) as journal:
        journal.record(Outcome(FIRST.id, "refused", because("it-moved")))
        journal.record(Outcome(FIRST.id, "done"))
    assert read(RUN, tmp_path).outcome_of(FIRST) == Outcome(FIRST.id, "done")


def test_a_run_is_finished_when_every_step_is_done(tmp_path):
    with opened(tmp_path) as journal:
        for step in PLAN.steps:
            assert not journal.finished
            journal.record(Outcome(step.id, "done"))
        assert journal.finished


def test_what_is_in_place_comes_in_the_order_of_the_plan(tmp_path):
    with opened(tmp_path) as journal:
        for step in reversed(PLAN.steps):
            journal.record(Outcome(step.id, "done"))
        assert tuple(step for step, _ in journal.in_place) == PLAN.steps


def test_a_last_line_that_was_torn_is_cut_off_wherever_it_was(tmp_path):
    with opened(tmp_path) as journal:
        journal.intend(FIRST)
    before = path_of(tmp_path).read_bytes()
    with opened(tmp_path) as journal:
        journal.record(Outcome(FIRST.id, "done"))
    last = path_of(tmp_path).read_bytes()[len(before) :]
    for length in range(len(last)):
        path_of(tmp_path).write_bytes(before + last[:length])
        assert read(RUN, tmp_path).outcome_of(FIRST) is None, "looking changes nothing"
        assert path_of(tmp_path).read_bytes() == before + last[:length]
        with opened(tmp_path) as journal:
            assert journal.intended_at(FIRST)
            journal.record(Outcome(FIRST.id, "done"))
        assert read(RUN, tmp_path).outcome_of(FIRST) == Outcome(FIRST.id, "done")
        assert len(path_of(tmp_path).read_bytes().splitlines()) == 3


def test_a_run_killed_before_its_first_line_was_whole_begins_anew(tmp_path):
    with opened(tmp_path):
        pass
    whole = path_of(tmp_path).read_bytes()
    path_of(tmp_path).write_bytes(whole[:-1])
    assert runs(tmp_path) == ()
    with pytest.raises(RunUnknown):
        read(RUN, tmp_path)
    with opened(tmp_path) as journal:
        assert journal.intended_at(FIRST) is None
    assert read(RUN, tmp_path).plan == PLAN


@pytest.mark.parametrize("line", [b"{}", b"nonsense", b"\xff\xfe", b""])
def test_a_damaged_line_is_named_and_the_run_does_not_go_on(tmp_path, line):
    with opened(tmp_path) as journal:
        journal.intend(FIRST)
    damaged = path_of(tmp_path).read_bytes() + line + b"\n"
    path_of(tmp_path).write_bytes(damaged)
    with pytest.raises(JournalDamaged) as refused:
        read(RUN, tmp_path)
    assert (refused.value.path, refused.value.line) == (str(path_of(tmp_path)), 3)
    with pytest.raises(JournalDamaged), opened(tmp_path):
        pass
    assert path_of(tmp_path).read_bytes() == damaged


@pytest.mark.parametrize("found", [0, 2])
def test_a_journal_of_another_format_is_refused_by_its_number(tmp_path, found):
    with opened(tmp_path):
        pass
    content = path_of(tmp_path).read_bytes()
    path_of(tmp_path).write_bytes(content.replace(b'"format":1', b'"format":%d' % found, 1))
    with pytest.raises(JournalFormatUnknown) as refused:
        read(RUN, tmp_path)
    assert (refused.value.found, refused.value.known) == (found, 1)


@pytest.mark.parametrize(
    ("line", "was", "edited"),
    [
        (1, b'"VCPU":2', b'"VCPU":1'),
        (2, b'"type":"intended"', b'"type":"intended" '),
        (3, b'"result":"refused"', b'"result":"done"'),
    ],
)
def test_a_journal_that_was_edited_is_not_believed(tmp_path, line, was, edited):
    with opened(tmp_path) as journal:
        journal.intend(FIRST)
        journal.record(Outcome(FIRST.id, "refused", because("it-moved")))
    content = path_of(tmp_path).read_bytes()
    assert was in content.splitlines()[line - 1]
    path_of(tmp_path).write_bytes(content.replace(was, edited, 1))
    with pytest.raises(JournalDamaged) as refused:
        read(RUN, tmp_path)
    assert (refused.value.line, refused.value.reason) == (
        line, "it, or a line before it, was edited"
    )  # fmt: skip


@pytest.mark.parametrize("line", [0, 1])
def test_a_line_that_was_taken_out_is_missed(tmp_path, line):
    with opened(tmp_path) as journal:
        journal.intend(FIRST)
        journal.record(Outcome(FIRST.id, "done"))
    lines = path_of(tmp_path).read_bytes().splitlines(keepends=True)
    del lines[line]
    path_of(tmp_path).write_bytes(b"".join(lines))
    with pytest.raises(JournalDamaged):
        read(RUN, tmp_path)


@contextmanager
def full_disk_at(size: int) -> Iterator[None]:
    """No file of this process may grow beyond this size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_fills_up_is_refused_by_name_and_the_run_goes_on_later(tmp_path):
    with opened(tmp_path) as journal:
        journal.intend(FIRST)
        size = path_of(tmp_path).stat().st_size
        with full_disk_at(size + 5), pytest.raises(JournalUnwritable) as refused:
            journal.record(Outcome(FIRST.id, "done"))
        with pytest.raises(JournalUnwritable):
            journal.record(Outcome(SECOND.id, "done"))
    assert refused.value.folder == str(tmp_path)
    assert path_of(tmp_path).stat().st_size == size + 5, "no line follows half a line"
    with opened(tmp_path) as journal:
        assert journal.intended_at(FIRST)
        assert journal.outcome_of(FIRST) is None
        journal.record(Outcome(FIRST.id, "done"))
    assert read(RUN, tmp_path).outcome_of(FIRST) == Outcome(FIRST.id, "done")


def test_a_journal_that_is_deleted_during_its_run_stops_the_run(tmp_path):
    with opened(tmp_path) as journal:
        path_of(tmp_path).unlink()
        with pytest.raises(JournalUnwritable) as refused:
            journal.intend(FIRST)
    assert refused.value.reason == "it was deleted while the run went on"
