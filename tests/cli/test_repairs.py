# SPDX-License-Identifier: Apache-2.0
"""`trueup watch --repair` over a real cloud; what it decides: tests/reconcile/watch."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Ran, trueup, undo_for_good
from tests.cli.sent import messages
from tests.clouds.ledger import ledger_at
from trueup.cli.repairs import RepairedCloud
from trueup.reconcile.reasons import because
from trueup.reconcile.runs import journal
from trueup.reconcile.runs.journals import runs
from trueup.reconcile.sources.placement.client import Placement
from trueup.reconcile.watch import repairing, watching

# Between the places to die that are tried: `make conformance` tries all.
APART = 1 if os.environ.get("TRUEUP_KILLS") else 3
ORPHANS = """
default = "ask"
[[rule]]
decision = "automatic"
defects = ["orphaned-allocation"]
[automatic]
rounds = 2
findings_share = 1.0
pause = "{}/pause"
"""


class Killed(BaseException):
    """Not an Exception: nothing may catch it, as nothing catches SIGKILL."""


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("trueup.cli.commands.watch.INTERVAL_SECONDS", 0.001)
    path = tmp_path / "policy.toml"
    path.write_text(ORPHANS.format(tmp_path))
    return path


@pytest.fixture
def watch(nova_conf: Path, policy: Path) -> Callable[..., Ran]:
    """One round, which may repair."""

    def run(*words: object) -> Ran:
        words = ("--repair", "--policy", policy, *words)
        return trueup("watch", "--rounds", 1, "--listen", "127.0.0.1:0", *words, "-f", "json")

    return run


def test_a_repair_is_announced_made_verified_and_told(watch, small, tmp_path, state):
    orphan, before = small.consumer("orphaned-allocation"), ledger_at(small.placement_url)
    sinks = ("--notify", f"file:{tmp_path / 'hook'}", "--send-to", f"file:{tmp_path / 'sink'}")
    watch(*sinks)
    [row] = watch(*sinks).json()
    assert row["Repairs"] == f"The next round repairs orphaned-allocation:{orphan}."
    assert ledger_at(small.placement_url) == before, "a dry round"
    third = watch(*sinks)
    assert "1 step done" in third.err
    assert "1 finding is gone" in third.err
    [run] = runs(state)
    assert [step.because for step, _ in run.in_place] == [(f"orphaned-allocation:{orphan}",)]
    [listed] = trueup("journal", "-f", "json").json()
    assert listed["Note"] == "by trueup watch --repair"
    events = [row["event"] for row in messages(tmp_path / "sink")]
    assert events == ["repair-announced", "run-began", "step-ended", "run-ended", "repair-ended"]
    told = [json.loads(line) for line in (tmp_path / "hook").read_text().splitlines()]
    assert [row["event"] for row in told if "event" in row] == ["repair-announced", "repair-ended"]
    undo_for_good(run.run)
    assert ledger_at(small.placement_url) == before
    [row] = watch(*sinks).json()
    assert "came back" in row["Repairs"], "what was taken back is not repaired again"
    assert messages(tmp_path / "sink")[-1]["event"] == "repairs-stopped"


def test_a_stop_holds_over_restarts_until_its_file_is_removed(watch, small, tmp_path, state):
    watch()
    (tmp_path / "pause").mkdir()
    assert "pause exists" in watch().json()[0]["Repairs"]
    (tmp_path / "pause").rmdir()
    before, stop = ledger_at(small.placement_url), state / "repairs-stopped.json"
    for _ in range(2):
        ran = watch()
        assert "Stopped since" in ran.json()[0]["Repairs"]
        assert f"remove {stop}" in ran.err
    assert json.loads(stop.read_text())["why"]["name"] == "repair-paused"
    assert ledger_at(small.placement_url) == before
    stop.unlink()
    assert "The next round repairs" in watch().json()[0]["Repairs"]
    watch()
    assert ledger_at(small.placement_url) != before


def test_a_silent_cell_stops_everything(watch, small, state):
    (small.folder / "nova_cell2.sqlite").unlink()
    assert "did not answer" in watch().json()[0]["Repairs"]
    assert (state / "repairs-stopped.json").exists()


def test_a_rehearsal_that_fails_stops_everything(watch, small, monkeypatch):
    failed = because("rehearsal-failed", about=("a",))
    monkeypatch.setattr(RepairedCloud, "rehearse", lambda *_: failed)
    before = ledger_at(small.placement_url)
    watch()
    assert "the rehearsal failed" in watch().json()[0]["Repairs"]
    assert ledger_at(small.placement_url) == before


def test_what_it_remembered_is_lost_and_so_is_the_budget(watch, state):
    watch()
    (state / "repairs.json").write_text("{")
    assert "cannot be used" in watch().json()[0]["Repairs"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no table [automatic]"),
        ("[automatic]\n[approval]\nrequired = 2", "each plan approved by 2 persons"),
        ("[automatic]\nsubjects_per_hour = 0", "cannot be used"),
        ("[automatic]\nper_hour = 1", "unknown field"),
    ],
)
def test_without_a_policy_that_permits_it_nothing_begins(watch, policy, text, words):
    policy.write_text(text)
    ran = watch()
    assert (ran.code, words in ran.err) == (2, True), ran.err


def test_options_of_repairs_need_repairs(nova_conf, policy):
    for option in (("--policy", policy), ("--send-to", "true"), ("--sign-with", policy)):
        ran = trueup("watch", "--rounds", 1, *option)
        assert (ran.code, "only --repair writes" in ran.err) == (2, True)


class Reaper:
    """Kills at one of the calls that write to disk or to the cloud, before it or after it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls, self.at = 0, 0
        for owner, name in (
            (journal, "_write"),
            (Placement, "send"),
            (repairing, "keep"),
            (watching, "keep"),
        ):
            monkeypatch.setattr(owner, name, self._watched(getattr(owner, name)))

    def _watched(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*words: Any, **options: Any) -> Any:
            self._count()
            answer = call(*words, **options)
            self._count()
            return answer

        return watched

    def _count(self) -> None:
        self.calls += 1
        if self.calls == self.at:
            raise Killed


@pytest.mark.timeout(900)
def test_a_repair_that_is_killed_anywhere_is_made_once(watch, small, tmp_path, state, monkeypatch):
    # It has a Placement and journals of its own, in which nobody can be killed usefully.
    monkeypatch.setattr(RepairedCloud, "rehearse", lambda *_: None)
    before, announced = ledger_at(small.placement_url), tmp_path / "announced"
    watch()
    watch()
    shutil.copytree(state, announced)
    reaper, at, repaired = Reaper(monkeypatch), 1 - APART, None
    killed = True
    while killed:
        at += APART
        shutil.rmtree(state)
        shutil.copytree(announced, state)
        reaper.calls, reaper.at, killed = 0, at, False
        try:
            watch()
        except Killed:
            killed = True
        reaper.at = 0
        # Killed before it wrote anything, it announces the repair again, and then makes it.
        for _ in range(3):
            watch()
        [run] = runs(state)
        assert [outcome.result for _, outcome in run.attempted] == ["done"], f"killed at {at}"
        repaired = repaired or ledger_at(small.placement_url)
        assert ledger_at(small.placement_url) == repaired, f"killed at {at}"
        undo_for_good(run.run)
        assert ledger_at(small.placement_url) == before, f"killed at {at}"
    assert at > 10, "there are many places to die"
