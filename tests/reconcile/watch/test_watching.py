# SPDX-License-Identifier: Apache-2.0
"""Rounds, one after another: what is published, reported and remembered after each."""

import sys
from collections import Counter
from dataclasses import replace

from tests.reconcile.page.paging import NOT_COUNTED
from tests.reconcile.planning import BROKEN
from tests.reconcile.watch.watching import at, scene, seen_at
from trueup.reconcile.audit import Observation
from trueup.reconcile.page.placeable import Placeables
from trueup.reconcile.sinks import Sink
from trueup.reconcile.sinks.process import Command
from trueup.reconcile.watch import watching
from trueup.reconcile.watch.memory import Memory
from trueup.reconcile.watch.memory_file import kept_in
from trueup.reconcile.watch.repairs import Repairs as RepairState
from trueup.reconcile.watch.status import WatchStatus
from trueup.reconcile.watch.watching import JITTER, Watch, Watcher

RIGHT = "cell1\n  host h1 VCPU=8\n"
DOWN = ConnectionError("Placement does not answer")


def test_a_round_is_published_told_and_kept(tmp_path):
    shown = scene([seen_at(BROKEN, 0)], tmp_path / "watch.json")
    status = shown.watcher.status
    assert b"3 findings" in status.page
    assert (status.rounds, status.running_since) == ({"complete": 1}, None)
    assert status.last_success == status.memory.rounds[0].at
    assert {"observe", "compose", "render", "remember"} <= status.phases.keys()
    assert kept_in(tmp_path / "watch.json", Memory).value == status.memory
    assert "3 findings (3 new, 0 gone), 0 could not be checked" in shown.said[0]


def test_a_round_that_fails_is_told_everywhere_and_the_next_goes_on(tmp_path):
    rounds = [seen_at(BROKEN, 0), DOWN, seen_at(BROKEN, 30)]
    after_two = scene(rounds[:2], tmp_path / "watch.json").watcher.status
    assert after_two.rounds == {"complete": 1, "failed": 1}
    assert b"The newest round failed" in after_two.page
    assert b"Placement does not answer" in after_two.page
    assert b"3 findings" in after_two.page
    assert after_two.last_success == after_two.memory.rounds[0].at
    shown = scene(rounds, tmp_path / "other.json")
    assert any("the round failed: Placement does not answer" in line for line in shown.said)
    assert b"The newest round failed" not in shown.watcher.status.page
    assert [one.state for one in shown.watcher.status.memory.rounds] == [
        "complete", "failed", "complete"
    ]  # fmt: skip


def test_before_any_round_has_succeeded_it_is_not_ready_and_says_why(tmp_path):
    assert scene([], tmp_path / "x").watcher.status.not_ready() == "no round has succeeded yet"
    status = scene([DOWN], tmp_path / "x").watcher.status
    assert status.not_ready() == "no round has succeeded yet: Placement does not answer"
    assert status.page == b""


def test_a_restart_goes_on_with_what_was_remembered(tmp_path):
    path = tmp_path / "watch.json"
    scene([seen_at(BROKEN, 0)], path)
    shown = scene([seen_at(BROKEN, 2)], path, memory=kept_in(path, Memory).value)
    memory = shown.watcher.status.memory
    assert len(memory.rounds) == 2
    assert len(memory.confirmed(shown.watcher.status.confirm_after)) == 3
    assert "(0 new, 0 gone)" in shown.said[0]


def test_new_findings_are_confirmed_soon_and_then_the_interval_holds_again(tmp_path):
    rounds = [seen_at(text, n) for n, text in enumerate((RIGHT, BROKEN, BROKEN, BROKEN))]
    calm, quick, again = scene(rounds, tmp_path / "x").paused
    for pause in (calm, again):
        assert 600 * (1 - JITTER) - 60 < pause < 600 * (1 + JITTER)
    assert quick == 60


def test_rounds_do_not_come_at_the_same_distance_every_time(tmp_path):
    paused = scene([seen_at(RIGHT, n) for n in range(12)], tmp_path / "x").paused
    assert len({round(pause) for pause in paused}) > 1


def test_a_folder_that_cannot_be_written_does_not_stop_it(tmp_path):
    shown = scene([seen_at(RIGHT, 0), seen_at(RIGHT, 10)], tmp_path / "nowhere" / "watch.json")
    assert shown.watcher.status.rounds == {"complete": 2}
    assert any("cannot be written" in line for line in shown.said)


def test_the_hook_runs_when_findings_are_confirmed_and_when_they_are_gone(tmp_path):
    path = tmp_path / "news"
    program = f"import sys; open({str(path)!r}, 'a').write(sys.stdin.read())"
    hook = Sink("hook", Command((sys.executable, "-c", program)))
    rounds = [BROKEN, BROKEN, BROKEN, RIGHT, RIGHT]
    shown = scene([seen_at(text, n) for n, text in enumerate(rounds)], tmp_path / "x", hook=hook)
    appeared, gone = path.read_text().splitlines()
    assert appeared.count('"defect"') == 3
    assert gone.count("-allocation:") + gone.count("wrong-provider:") == 3
    assert shown.watcher.status.notifications == {"done": 2}


def test_a_hook_that_fails_gets_the_same_news_again(tmp_path):
    path = tmp_path / "news"
    program = (
        f"import os, sys; path = {str(path)!r}; new = not os.path.exists(path)\n"
        "open(path, 'a').write(sys.stdin.read()); sys.exit(int(new))"
    )
    hook = Sink("hook", Command((sys.executable, "-c", program)))
    rounds = [seen_at(BROKEN, n) for n in range(4)]
    shown = scene(rounds, tmp_path / "x", hook=hook)
    first, second = path.read_text().splitlines()
    assert first.count('"defect"') == second.count('"defect"') == 3
    assert shown.watcher.status.notifications == {"failed": 1, "done": 1}
    assert any("the hook failed: it ended with 1" in line for line in shown.said)


def test_without_a_hook_nothing_counts_as_notified(tmp_path):
    shown = scene([seen_at(BROKEN, 0), seen_at(BROKEN, 5)], tmp_path / "x", memory=Memory())
    assert shown.watcher.status.memory.notified == frozenset()


def test_counts_that_fail_cost_no_round_and_are_told(tmp_path):
    def count(_: Observation) -> Placeables:
        raise ValueError("nobody can count")

    shown = scene([seen_at(BROKEN, 0)], tmp_path / "x", count=count)
    assert shown.watcher.status.memory.rounds[-1].state == "complete"
    assert shown.watcher.status.memory.counts == ()
    assert b"Not counted: nobody can count" in shown.watcher.status.page
    assert "how many servers fit could not be counted: nobody can count" in shown.said


def test_counts_are_kept_and_their_trend_is_on_the_page(tmp_path):
    numbers = iter((30, 20))
    shown = scene(
        [seen_at(BROKEN, 0), seen_at(BROKEN, 2 * 24 * 60)],
        tmp_path / "x",
        count=lambda _: Placeables(in_all={"m1": next(numbers)}),
    )
    kept = kept_in(tmp_path / "x", Memory).value
    assert [one.fits for one in kept.counts] == [{"m1": 30}, {"m1": 20}]
    assert "as in the last 2 days: about 10 fit in 2 days" in shown.watcher.status.page.decode()


def test_until_a_round_is_over_the_round_before_is_all_that_is_known(tmp_path):
    during: list[WatchStatus] = []
    coming = [seen_at(BROKEN, 0), seen_at(RIGHT, 5)]
    watch = Watch(
        observe=lambda: coming.pop(0),
        count=lambda _: NOT_COUNTED,
        journals=tuple,
        explain=str,
        say=lambda line: during.append(watcher.status),
        pause=lambda seconds: None,
        path=tmp_path / "x",
        interval=600,
        version="1.2.3",
    )
    watcher = Watcher(watch, Memory())
    watcher.rounds(2)
    first, second = during
    assert (first.last_success, first.page, first.totals) == (None, b"", ())
    assert second.memory.rounds[-1].at == at(0)
    assert len(second.memory.sightings) == 3
    assert second.running_since is not None


class Repairs:
    """What a repairer is told of each round."""

    def __init__(self) -> None:
        self.seen: list[Observation | None] = []
        self.state, self.room, self.runs, self.note = RepairState(), (0, 0), Counter(), ""

    def after_round(self, seen: Observation | None, memory: Memory) -> None:
        self.seen.append(seen)


def test_a_round_that_fails_after_it_has_seen_repairs_nothing(tmp_path, monkeypatch):
    watcher = scene([], tmp_path / "watch.json").watcher
    watch = replace(watcher._watch, observe=lambda: seen_at(BROKEN, 0), repairer=Repairs())
    monkeypatch.setattr(watching, "stocks_of", lambda facts: 1 / 0)
    watcher = Watcher(watch, Memory())
    watcher.rounds(1)
    assert watcher.status.rounds == {"failed": 1}
    assert watch.repairer.seen == [None], "what is remembered is not of what was seen"
