# SPDX-License-Identifier: Apache-2.0
"""`trueup apply` writes a plan, and says how to take it back. What guards it: tests/reconcile."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from unittest import mock

import pytest

from tests.cli.on_terminal import at_a_terminal
from tests.cli.running import trueup
from tests.reconcile.small import Small
from trueup.cli import driving
from trueup.reconcile import changes
from trueup.reconcile.changes import Reply
from trueup.reconcile.clock import now
from trueup.reconcile.plan.plan_file import load
from trueup.reconcile.runs.journal import Origin
from trueup.reconcile.runs.journals import applying, runs
from trueup.reconcile.verdicts import Acknowledgement, AuditOptions
from trueup.reconcile.verdicts.acknowledgement_file import add


def test_a_plan_is_written_with_a_journal(small, plan_file, state):
    ran = trueup("apply", plan_file, "-f", "json")
    assert ran.code == 0
    assert {row["Result"] for row in ran.json()} == {"done"}
    [journal] = runs(state)
    assert journal.finished
    assert f"Run {journal.run}: 4 steps done, 0 refused." in ran.err
    assert f"To take it back: trueup undo {journal.run}" in ran.err
    assert small.plan().steps == ()


def test_a_finished_plan_is_not_written_again(small, plan_file):
    trueup("apply", plan_file)
    before = small.rows()
    ran = trueup("apply", plan_file, "-f", "json")
    assert ran.code == 0
    assert "was finished before; nothing is written now" in ran.err
    assert small.rows() == before


def test_refused_steps_give_their_code_and_their_reasons(small, plan_file):
    small.change_instance("wrong-provider", task_state="migrating")
    ran = trueup("apply", plan_file, "-f", "json")
    assert ran.code == 4
    [refused] = [row for row in ran.json() if row["Result"] == "refused"]
    assert refused["Reason"] == "the instance's task state was none, it is migrating"
    assert "3 steps done, 1 refused" in ran.err


def test_when_all_are_refused_there_is_nothing_to_take_back(small, plan_file):
    for defect in small.planted:
        small.change_instance(defect, host="compute-99")
    ran = trueup("apply", plan_file)
    assert ran.code == 4
    assert "0 steps done, 4 refused" in ran.err
    assert "To take it back" not in ran.err


def test_the_journal_goes_where_it_is_told(plan_file, tmp_path, state):
    assert trueup("apply", plan_file, "--state-dir", tmp_path / "other").code == 0
    assert len(runs(tmp_path / "other")) == 1
    assert runs(state) == ()


def test_a_run_that_another_process_applies_is_left_to_it(small, plan_file, state):
    before = small.rows()
    with applying(load(plan_file), state, Origin()):
        ran = trueup("apply", plan_file)
    assert (ran.code, ran.out) == (2, "")
    assert "is being applied by another process" in ran.err
    assert small.rows() == before


def test_a_raised_age_takes_an_older_plan(plan_file):
    assert trueup("apply", plan_file, "--max-age", 0).code == 2
    assert trueup("apply", plan_file, "--max-age", 0.5).code == 0
    again = trueup("apply", plan_file, "--max-age", 0)
    [run] = [row["Run"] for row in trueup("journal", "-f", "json").json()]
    assert again.code == 2
    assert (
        f"Its run {run} has 4 of 4 steps in place; to take it back: trueup undo {run}" in again.err
    )


def test_what_was_refused_is_planned_again_and_applied(small, plan_file):
    """A write of somebody else moved its generation: nothing is wrong with the finding."""
    rewritten(small, small.consumer("wrong-provider"))
    ran = trueup("apply", plan_file, "--replan", 0.01, "-f", "json")
    assert ran.code == 0
    assert sorted(row["Result"] for row in ran.json()) == ["done"] * 4 + ["refused"]
    assert "1 step for 1 finding." in ran.err
    assert small.plan().steps == ()


def test_what_is_refused_and_not_planned_again_is_not_forgotten(small, plan_file):
    small.change_instance("wrong-provider", task_state="migrating")
    small.change_instance("missing-allocation", updated_at="2020-01-01 12:00:00")
    ran = trueup("apply", plan_file, "--replan", 0.01, "-f", "json")
    assert sorted(row["Result"] for row in ran.json()) == ["done"] * 3 + ["refused"] * 2
    assert "1 step for 1 finding." in ran.err
    assert ran.code == 4


def rewritten(small: Small, consumer: str, project: str | None = None) -> None:
    """What the consumer holds, put once more by somebody else: its generation is another one."""
    holding = small.holding(consumer)
    rows = holding["allocations"].items()
    body = {name: holding[name] for name in ("project_id", "user_id", "consumer_generation")}
    body["project_id"] = project or body["project_id"]
    body["allocations"] = {uuid: {"resources": row["resources"]} for uuid, row in rows}
    assert small.call("PUT", f"/allocations/{consumer}", body).status_code == 204


def test_a_refused_step_is_planned_again_by_the_options_of_its_plan(small, nova_conf, tmp_path):
    """Not by their defaults, by which this deletion would be too young to be judged."""
    path, deleted = tmp_path / "plan.json", small.consumer("orphaned-allocation")
    muted = Acknowledgement("finding", "wrong-owner:another", "known", now().date())
    add(tmp_path / "muted.toml", muted)
    moment = now().replace(microsecond=0) - timedelta(seconds=60)
    small.change_instance("orphaned-allocation", deleted_at=moment.isoformat(sep=" "))
    words = ("--grace", 10, "--acknowledged", tmp_path / "muted.toml", "--consumer", deleted)
    assert trueup("plan", *words, "--interval", 0.01, "--out", path).code == 3
    assert load(path).options == AuditOptions(10, (muted,))
    rewritten(small, deleted)
    ran = trueup("apply", path, "--replan", 0.01, "-f", "json")
    assert [row["Result"] for row in ran.json()] == ["refused", "done"], ran.err
    assert ran.code == 0


def test_nobody_has_seen_a_plan_for_another_finding(small, plan_file):
    """Of the same consumer, and found since."""
    consumer = small.consumer("missing-allocation")
    wrong = small.holding(small.consumer("wrong-provider"))
    body = {name: wrong[name] for name in ("project_id", "user_id")} | {"consumer_generation": None}
    elsewhere = next(iter(wrong["allocations"].values()))["resources"]
    provider = next(iter(wrong["allocations"]))
    body["allocations"] = {provider: {"resources": elsewhere}}
    assert small.call("PUT", f"/allocations/{consumer}", body).status_code == 204
    ran = trueup("apply", plan_file, "--replan", 0.01, "-f", "json")
    assert ran.code == 4
    [refused] = [row for row in ran.json() if row["Result"] == "refused"]
    assert refused["Subject"] == consumer
    assert list(small.holding(consumer)["allocations"]) == [provider]


def test_what_is_no_longer_as_the_run_left_it_is_refused_by_name(small, plan_file):
    """Placement was put back from a backup: the journal says done, and the ledger is wrong again.

    The same plan once more, now that this was told, does the work again.
    """
    saved = small.folder / "backup.sqlite"
    with closing(sqlite3.connect(small.folder / "placement.sqlite")) as ledger:
        ledger.execute("VACUUM INTO ?", (str(saved),))
    assert trueup("apply", plan_file).code == 0
    repaired = small.ledger()
    with (
        closing(sqlite3.connect(saved)) as backup,
        closing(sqlite3.connect(small.folder / "placement.sqlite")) as ledger,
    ):
        backup.backup(ledger)
    ran = trueup("apply", plan_file, "-f", "json")
    assert ran.code == 4
    assert {row["Result"] for row in ran.json()} == {"refused"}
    assert {row["Reason"] for row in ran.json()} == {
        "this run wrote it before, and its allocations are not as it left them: another client "
        "has written since, or the service was restored from a backup"
    }
    assert trueup("apply", plan_file).code == 0
    assert small.ledger() == repaired


def test_what_is_left_after_the_write_is_told(small, plan_file, monkeypatch):
    """As where a write does not change what the audit compares."""
    monkeypatch.setattr(changes, "write", lambda change, *_: Reply(True, version=change.version))
    ran = trueup("apply", plan_file, "-f", "json")
    assert [row["Result"] for row in ran.json()] == ["done"] * 4
    assert ran.code == 3
    assert ran.err.count("Found again after the write: ") == 4


def test_a_cell_that_falls_silent_leaves_open_whether_it_helped(small, plan_file):
    cell = small.folder / "nova_cell2.sqlite"
    real = driving.verify

    def silent(*words):
        cell.rename(cell.with_suffix(".away"))
        return real(*words)

    with mock.patch.object(driving, "verify", silent):
        ran = trueup("apply", plan_file)
    assert ran.code == 5
    assert "Could not check after the write: " in ran.err


def test_a_plan_without_steps_says_so_each_time(small, plan_file, tmp_path, state):
    assert trueup("apply", plan_file).code == 0
    empty = tmp_path / "empty.json"
    assert trueup("plan", "--interval", 0.01, "--out", empty).code == 0
    for _ in range(2):
        ran = trueup("apply", empty)
        assert ran.code == 0
        assert ran.err == "The plan has no steps: nothing is written.\n"
    assert len(runs(state)) == 1


def test_steps_are_written_side_by_side(small, plan_file):
    ran = trueup("apply", plan_file, "--concurrency", 4, "--rate", 1000, "-f", "json")
    assert ran.code == 0
    assert [row["Result"] for row in ran.json()] == ["done"] * 4
    assert small.plan().steps == ()


@pytest.mark.parametrize(
    ("words", "typed", "written"),
    [([], "y\n", True), ([], "\n", False), ([], "no\n", False), (["--yes"], "", True)],
)
def test_at_a_terminal_it_asks_once(small, plan_file, words, typed, written):
    before = small.rows()
    code, shown = at_a_terminal("apply", plan_file, *words, typed=typed)
    assert (code == 0) is written, shown
    assert ("Write 4 steps that touch 4 subjects to http" in shown) is (words == [])
    if not written:
        assert code == 2
        assert "nothing is written" in shown
        assert small.rows() == before


def test_only_what_is_released_is_written(small, plan_file):
    before = small.ledger()["allocations"]
    ran = trueup("apply", plan_file, "--only-releases", "-f", "json")
    assert ran.code == 0
    assert {row["Because"] for row in ran.json()} == {"evacuation-residue", "orphaned-allocation"}
    after = small.ledger()["allocations"]
    assert all(before[consumer] for consumer in after)
    ran = trueup("apply", plan_file, "--only", "missing-allocation", "-f", "json")
    assert len(ran.json()) == 1
