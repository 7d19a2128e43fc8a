# SPDX-License-Identifier: Apache-2.0
"""The folder of all runs: their names, who may write to one, and what is unreadable in it."""

import os
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from tests.reconcile.planning import planned
from trueup.reconcile.report.tables import runs_table
from trueup.reconcile.runs.journal import (
    Approval,
    JournalDamaged,
    JournalUnwritable,
    Origin,
    Outcome,
)
from trueup.reconcile.runs.journals import (
    JournalUnreadable,
    RunBusy,
    RunUnknown,
    Unreadable,
    applying,
    find,
    interrupted,
    read,
    reopened,
    runs,
    unread_since,
)

PLAN = planned()
FIRST, SECOND, THIRD = PLAN.steps
NOBODY = Origin()


def begin(plan, folder) -> str:
    with applying(plan, folder, NOBODY) as journal:
        return journal.run


def test_applying_a_plan_again_goes_on_with_its_run(tmp_path):
    assert begin(PLAN, tmp_path) == begin(PLAN, tmp_path) == f"{PLAN.id}-1"
    assert [path.name for path in tmp_path.iterdir()] == [f"{PLAN.id}-1.jsonl"]


def test_after_an_undo_a_new_run_does_again_what_was_taken_back(tmp_path):
    with applying(PLAN, tmp_path, NOBODY) as journal:
        for step in PLAN.steps:
            journal.record(Outcome(step.id, "done", versions=({"c": 1},)))
        journal.take_back(SECOND.id, "an-undo", ({"c": 7},))
    with applying(PLAN, tmp_path, NOBODY) as journal:
        assert journal.run == f"{PLAN.id}-2"
        assert [journal.is_done(step.id) for step in PLAN.steps] == [True, False, True]
        [_, again, _] = journal.plan.steps
        assert again.changes[0].version == {"c": 7}
    assert begin(PLAN, tmp_path) == f"{PLAN.id}-2", "nothing of that was taken back"


def test_a_run_goes_by_its_name_or_by_that_of_its_plan(tmp_path):
    run = begin(PLAN, tmp_path)
    assert find(run, tmp_path) == find(PLAN.id, tmp_path) == run
    assert read(PLAN.id, tmp_path).run == run


@pytest.mark.parametrize("of_all", [True, False])
def test_what_cannot_be_read_is_named(tmp_path, of_all):
    """As if it belonged to another account; who is root may read all."""
    folder = tmp_path / "state"
    run = begin(PLAN, folder)
    closed = folder if of_all else folder / f"{run}.jsonl"
    closed.rename(tmp_path / "kept")
    closed.symlink_to(closed)
    [found] = runs(folder)
    assert isinstance(found, Unreadable)
    for name in (run, PLAN.id):
        with pytest.raises(JournalUnreadable) as refused:
            read(name, folder)
        assert refused.value.path == str(closed)
    with pytest.raises(JournalUnreadable), applying(PLAN, folder, NOBODY):
        pass


def test_a_run_is_for_one_process_at_a_time(tmp_path):
    with applying(PLAN, tmp_path, NOBODY) as journal:
        for again in (
            lambda: applying(PLAN, tmp_path, NOBODY),
            lambda: reopened(PLAN.id, tmp_path),
        ):
            with pytest.raises(RunBusy) as refused, again():
                pass
            assert refused.value.run == journal.run
        assert read(journal.run, tmp_path).plan == PLAN, "others may look"
    begin(PLAN, tmp_path)


def test_another_plan_is_another_run(tmp_path):
    other = replace(PLAN, consumers=99)
    with applying(PLAN, tmp_path, NOBODY), applying(other, tmp_path, NOBODY):
        assert len(runs(tmp_path)) == 2


def test_the_folder_is_made(tmp_path):
    begin(PLAN, tmp_path / "state" / "trueup")
    assert len(runs(tmp_path / "state" / "trueup")) == 1


def test_a_folder_that_cannot_be_written_is_refused_by_name(tmp_path):
    (tmp_path / "a-file").write_text("")
    with pytest.raises(JournalUnwritable) as refused:
        begin(PLAN, tmp_path / "a-file" / "below")
    assert refused.value.folder == str(tmp_path / "a-file" / "below")
    assert refused.value.reason


@pytest.mark.parametrize("name", ["20260101T000000-abcdef01", "", "../plan"])
def test_a_run_that_is_not_there_is_unknown_by_name(tmp_path, name):
    for look in (read, find):
        with pytest.raises(RunUnknown) as refused:
            look(name, tmp_path)
        assert (refused.value.run, refused.value.folder) == (name, str(tmp_path))
    with pytest.raises(RunUnknown), reopened(name, tmp_path):
        pass


def test_without_a_folder_there_are_no_runs(tmp_path):
    assert runs(tmp_path / "none") == ()


def test_runs_come_in_the_order_they_began_whenever_they_were_planned(tmp_path):
    plans = [replace(PLAN, made_at=PLAN.made_at + timedelta(hours=hours)) for hours in (2, 0, 1)]
    plans.append(replace(plans[0], undoes=plans[0].id))
    names = [begin(plan, tmp_path) for plan in plans]
    with applying(plans[0], tmp_path, NOBODY) as gone_on_with:
        gone_on_with.intend(FIRST)
    assert [journal.run for journal in runs(tmp_path)] == names


@pytest.mark.parametrize(
    "content", [b"{}\n", b"nonsense\n", b"\xff\xfe\n", b'{"type":"plan","format":1}\n']
)
def test_one_journal_that_cannot_be_read_does_not_hide_the_others(tmp_path, content):
    (tmp_path / "a-bad-one.jsonl").write_bytes(content)
    run = begin(PLAN, tmp_path)
    good, bad = runs(tmp_path)
    assert good.run == run
    assert isinstance(bad, Unreadable)
    assert bad.run == "a-bad-one"
    assert bad.reason


def test_what_cannot_be_read_is_told_if_it_was_written_after_a_run_began(tmp_path):
    assert unread_since("none", tmp_path) == ()
    (tmp_path / "bad.jsonl").write_bytes(b"garbage\n")
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "gone.jsonl")
    run = begin(PLAN, tmp_path)
    assert [one.run for one in unread_since(run, tmp_path)] == ["bad", "gone"]
    os.utime(tmp_path / "bad.jsonl", (0, 0))
    assert [one.run for one in unread_since(PLAN.id, tmp_path)] == ["gone"]


def test_a_damaged_journal_of_a_run_to_go_on_with_is_refused(tmp_path):
    """SAFETY: what its run has begun may still be written."""
    run = begin(PLAN, tmp_path)
    began = read(run, tmp_path).began_at
    look = partial(interrupted, tmp_path, PLAN.cells)
    assert [one.run for one in look(began, lambda _: True)] == [run]
    path = tmp_path / f"{run}.jsonl"
    path.write_bytes(path.read_bytes() + b"garbage\n")
    with pytest.raises(JournalDamaged) as refused:
        look(began, lambda _: True)
    assert (refused.value.path, refused.value.line) == (str(path), 2)
    assert look(began, lambda _: False) == (), "it is not ours"
    assert look(began + timedelta(seconds=1), lambda _: True) == (), "it is too old to go on"
    assert interrupted(tmp_path, ("another",), began, lambda _: True) == ()


def test_a_run_keeps_everybody_who_applied_it_and_their_approvals(tmp_path):
    """Not only who began it: another person goes on, whose approvals are others."""
    alice = Origin("alice", "c1", approvals=(Approval("bob@example.org", "SHA256:b"),))
    bob = Origin("bob", "c1", approvals=(Approval("alice@example.org", "SHA256:a"),))
    for origin in (alice, alice, bob, bob):
        with applying(PLAN, tmp_path, origin) as journal:
            assert journal.origin == origin
    [journal] = runs(tmp_path)
    assert journal.origins == (alice, bob)
    [row] = runs_table([journal])[1]
    assert "alice@c1, bob@c1" in row
    assert "bob@example.org alice@example.org" in row
