# SPDX-License-Identifier: Apache-2.0
"""Invariant 10: kill `apply` at any instant and run it again: the plan is completed exactly once.

A small cloud with one defect of each kind, Placement served for real. Every call that leaves the
process (a request, a query, a line of the journal) is a place to die: when it has been made, and
before anyone knows its answer.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.running import trueup, undo_for_good
from tests.clouds.ledger import ledger_at
from trueup import lab
from trueup.cli import driving
from trueup.reconcile.plan.plan_file import load
from trueup.reconcile.runs import journal as journals
from trueup.reconcile.sources.database import Database
from trueup.reconcile.sources.placement.client import Placement

# Between the places to die that are tried: `make conformance` tries all.
APART = 1 if os.environ.get("TRUEUP_KILLS") else 7
DOORS = ((Placement, "_request"), (Database, "ask"), (journals, "_write"))


class Killed(BaseException):
    """Not an Exception: nothing may catch it, as nothing catches SIGKILL."""


class Reaper:
    """Counts the calls through the doors, and kills after one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.at: int | None = None
        for owner, name in DOORS:
            monkeypatch.setattr(owner, name, self._watched(getattr(owner, name)))

    def _watched(self, call: Callable) -> Callable:
        def watched(*args, **options):
            self.calls += 1
            due = self.calls == self.at
            answer = call(*args, **options)
            if due:
                raise Killed
            return answer

        return watched


@pytest.fixture(autouse=True)
def without_a_look_after_the_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever dies there has written everything, and has nothing to write."""
    monkeypatch.setattr(driving, "verify", lambda *_: [])


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[lab.SmallCloud]:
    with lab.small_cloud(tmp_path / "cloud", seed=1, hosts=6, instances=40) as small:
        # What is missing is written in one request.
        small.plant(lab.Drift(orphaned=1, evacuated=1, missing=2, misplaced=1, failed=1))
        yield small


def plan_anew(cloud: lab.SmallCloud, tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    ran = trueup(
        "plan", "--nova-conf", cloud.nova_conf, "--interval", 0.01, "--out", path, "-f", "json"
    )
    assert len(ran.json()) == 6, ran.err
    return path


@pytest.mark.timeout(600)
def test_invariant_10_a_killed_apply_is_completed_exactly_once(cloud, tmp_path, monkeypatch):
    monkeypatch.setenv("TRUEUP_STATE_DIR", str(tmp_path / "state"))
    broken = ledger_at(cloud.placement_url)
    repaired, at, killed = None, 0, True
    reaper = Reaper(monkeypatch)
    while killed:
        path, at = plan_anew(cloud, tmp_path), at + APART
        reaper.calls, reaper.at = 0, at
        try:
            ran = trueup("apply", "--nova-conf", cloud.nova_conf, path)
            killed = False
        except Killed:
            reaper.at = None
            ran = trueup("apply", "--nova-conf", cloud.nova_conf, path)
        reaper.at = None
        assert ran.code == 0, f"killed at call {at}: {ran.out} {ran.err}"
        found = ledger_at(cloud.placement_url)
        repaired = repaired or found
        assert found == repaired, f"killed at call {at}"
        _undo(cloud, path)
        assert ledger_at(cloud.placement_url) == broken, f"undone after call {at}"
    assert at > 20, "there are many places to die"


@pytest.mark.timeout(600)
def test_invariant_10_a_killed_apply_can_be_undone(cloud, tmp_path, monkeypatch):
    monkeypatch.setenv("TRUEUP_STATE_DIR", str(tmp_path / "state"))
    broken = ledger_at(cloud.placement_url)
    reaper = Reaper(monkeypatch)
    at, killed = 0, True
    while killed:
        path, at = plan_anew(cloud, tmp_path), at + 2 * APART
        reaper.calls, reaper.at = 0, at
        try:
            trueup("apply", "--nova-conf", cloud.nova_conf, path)
            killed = False
        except Killed:
            pass
        reaper.at = None
        if load(path).id in trueup("journal").out:
            _undo(cloud, path)
        assert ledger_at(cloud.placement_url) == broken, f"undone after call {at}"


def _undo(cloud: lab.SmallCloud, path: Path) -> None:
    undo_for_good("--nova-conf", cloud.nova_conf, load(path).id)
