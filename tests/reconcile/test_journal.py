# SPDX-License-Identifier: Apache-2.0
"""Journals: on disk before the write, whole after any crash, for one process at a time."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.reconcile.planning import planned
from trueup.reconcile.journal import (
    JournalDamaged,
    JournalUnwritable,
    RunBusy,
    RunUnknown,
    Settled,
    opened,
    read,
    runs,
)

PLAN = planned()
FIRST, SECOND, THIRD = PLAN.steps


def path_of(folder):
    return folder / f"{PLAN.id}.jsonl"


def test_a_run_has_the_name_of_its_plan_and_keeps_the_plan(tmp_path):
    with opened(PLAN, tmp_path) as journal:
        assert journal.run == PLAN.id
    assert [path.name for path in tmp_path.iterdir()] == [f"{PLAN.id}.jsonl"]
    assert read(PLAN.id, tmp_path).plan == PLAN


def test_what_was_intended_and_settled_is_there_when_the_run_goes_on(tmp_path):
    done = Settled(FIRST.id, "done", generation=4, provider_generations={"p": 7})
    refused = Settled(SECOND.id, "refused", "it moved")
    with opened(PLAN, tmp_path) as journal:
        journal.intend(FIRST)
        journal.settle(done)
        journal.intend(SECOND)
        journal.settle(refused)
        journal.intend(THIRD)
    with opened(PLAN, tmp_path) as journal:
        assert [journal.settled(step) for step in PLAN.steps] == [done, refused, None]
        assert [journal.was_intended(step) for step in PLAN.steps] == [True, True, True]
        assert journal.done == ((FIRST, done),)
        assert journal.provider_generations == {"p": 7}
        assert not journal.finished


def test_an_intent_is_on_disk_before_anything_else_happens(tmp_path):
    with opened(PLAN, tmp_path) as journal:
        journal.intend(FIRST)
        assert FIRST.id in path_of(tmp_path).read_text().splitlines()[-1]


def test_the_last_settling_counts(tmp_path):
    with opened(PLAN, tmp_path) as journal:
        journal.settle(Settled(FIRST.id, "refused", "it moved"))
        journal.settle(Settled(FIRST.id, "done"))
    assert read(PLAN.id, tmp_path).settled(FIRST) == Settled(FIRST.id, "done")


def test_a_run_is_finished_when_every_step_is_done(tmp_path):
    with opened(PLAN, tmp_path) as journal:
        for step in PLAN.steps:
            assert not journal.finished
            journal.settle(Settled(step.id, "done"))
        assert journal.finished


def test_what_was_done_comes_in_the_order_of_the_plan(tmp_path):
    with opened(PLAN, tmp_path) as journal:
        for step in reversed(PLAN.steps):
            journal.settle(Settled(step.id, "done"))
        assert tuple(step for step, _ in journal.done) == PLAN.steps


def test_a_last_line_that_was_torn_is_cut_off_wherever_it_was(tmp_path):
    with opened(PLAN, tmp_path) as journal:
        journal.intend(FIRST)
    before = path_of(tmp_path).read_bytes()
    with opened(PLAN, tmp_path) as journal:
        journal.settle(Settled(FIRST.id, "done"))
    last = path_of(tmp_path).read_bytes()[len(before) :]
    for length in range(len(last)):
        path_of(tmp_path).write_bytes(before + last[:length])
        assert read(PLAN.id, tmp_path).settled(FIRST) is None, "looking changes nothing"
        assert path_of(tmp_path).read_bytes() == before + last[:length]
        with opened(PLAN, tmp_path) as journal:
            assert journal.was_intended(FIRST)
            journal.settle(Settled(FIRST.id, "done"))
        assert read(PLAN.id, tmp_path).settled(FIRST) == Settled(FIRST.id, "done")
        assert len(path_of(tmp_path).read_bytes().splitlines()) == 3


def test_a_run_killed_before_its_first_line_was_whole_begins_anew(tmp_path):
    with opened(PLAN, tmp_path):
        pass
    whole = path_of(tmp_path).read_bytes()
    path_of(tmp_path).write_bytes(whole[:-1])
    assert runs(tmp_path) == ()
    with pytest.raises(RunUnknown):
        read(PLAN.id, tmp_path)
    with opened(PLAN, tmp_path) as journal:
        assert not journal.was_intended(FIRST)
    assert read(PLAN.id, tmp_path).plan == PLAN


@pytest.mark.parametrize("line", [b"{}", b"nonsense", b"\xff\xfe", b'{"type": "settled"}'])
def test_a_file_that_is_no_journal_is_no_run(tmp_path, line):
    (tmp_path / "other.jsonl").write_bytes(line + b"\n")
    with opened(PLAN, tmp_path):
        pass
    assert [journal.run for journal in runs(tmp_path)] == [PLAN.id]
    with pytest.raises(RunUnknown):
        read("other", tmp_path)


@pytest.mark.parametrize("line", [b"{}", b"nonsense", b"\xff\xfe", b""])
def test_a_damaged_line_is_named_and_the_run_does_not_go_on(tmp_path, line):
    with opened(PLAN, tmp_path) as journal:
        journal.intend(FIRST)
    damaged = path_of(tmp_path).read_bytes() + line + b"\n"
    path_of(tmp_path).write_bytes(damaged)
    for look in (lambda: read(PLAN.id, tmp_path), lambda: runs(tmp_path)):
        with pytest.raises(JournalDamaged) as refused:
            look()
        assert (refused.value.path, refused.value.line) == (str(path_of(tmp_path)), 3)
    with pytest.raises(JournalDamaged), opened(PLAN, tmp_path):
        pass
    assert path_of(tmp_path).read_bytes() == damaged


def test_a_run_is_for_one_process_at_a_time(tmp_path):
    with opened(PLAN, tmp_path):
        with pytest.raises(RunBusy) as refused, opened(PLAN, tmp_path):
            pass
        assert refused.value.run == PLAN.id
        assert read(PLAN.id, tmp_path).plan == PLAN, "others may look"
    with opened(PLAN, tmp_path):
        pass


def test_another_plan_is_another_run(tmp_path):
    other = replace(PLAN, consumers=99)
    with opened(PLAN, tmp_path), opened(other, tmp_path):
        assert len(runs(tmp_path)) == 2


def test_the_folder_is_made(tmp_path):
    with opened(PLAN, tmp_path / "state" / "trueup"):
        pass
    assert [journal.run for journal in runs(tmp_path / "state" / "trueup")] == [PLAN.id]


def test_a_folder_that_cannot_be_written_is_refused_by_name(tmp_path):
    (tmp_path / "a-file").write_text("")
    with pytest.raises(JournalUnwritable) as refused, opened(PLAN, tmp_path / "a-file" / "below"):
        pass
    assert refused.value.folder == str(tmp_path / "a-file" / "below")
    assert refused.value.reason


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
    with opened(PLAN, tmp_path) as journal:
        journal.intend(FIRST)
        size = path_of(tmp_path).stat().st_size
        with full_disk_at(size + 5), pytest.raises(JournalUnwritable) as refused:
            journal.settle(Settled(FIRST.id, "done"))
    assert refused.value.folder == str(tmp_path)
    assert path_of(tmp_path).stat().st_size == size + 5
    with opened(PLAN, tmp_path) as journal:
        assert journal.was_intended(FIRST)
        assert journal.settled(FIRST) is None
        journal.settle(Settled(FIRST.id, "done"))
    assert read(PLAN.id, tmp_path).settled(FIRST) == Settled(FIRST.id, "done")


@pytest.mark.parametrize("name", ["20260101T000000-abcdef01", "", "../plan"])
def test_a_run_that_is_not_there_is_unknown_by_name(tmp_path, name):
    with pytest.raises(RunUnknown) as refused:
        read(name, tmp_path)
    assert (refused.value.run, refused.value.folder) == (name, str(tmp_path))


def test_without_a_folder_there_are_no_runs(tmp_path):
    assert runs(tmp_path / "none") == ()


def test_runs_come_in_the_order_they_began_whenever_they_were_planned(tmp_path):
    plans = [replace(PLAN, made_at=PLAN.made_at + timedelta(hours=hours)) for hours in (2, 0, 1)]
    plans.append(replace(plans[0], undoes=plans[0].id))
    for plan in plans:
        with opened(plan, tmp_path):
            pass
    with opened(plans[0], tmp_path) as gone_on_with:
        gone_on_with.intend(FIRST)
    assert [journal.run for journal in runs(tmp_path)] == [plan.id for plan in plans]
