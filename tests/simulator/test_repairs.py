# SPDX-License-Identifier: Apache-2.0
"""`trueup watch --repair` in simulated histories: the truth is the simulator's.

TRUEUP_HISTORIES sets how many histories are played, TRUEUP_SEED the seed of the first.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from tests.simulator.cloud import Cloud, Impossible
from tests.simulator.drifts import DRIFTS
from tests.simulator.events import Event, happen
from tests.simulator.generating import READ, SERVERS, history
from tests.simulator.quiet import quiet_cloud, settle
from tests.simulator.repairing import Watched
from tests.simulator.reporting import HISTORIES, seeds
from tests.simulator.running import play
from trueup.reconcile.plan.policy import Budget, Policy

PER_HOUR, PER_DAY = 2, 4
# How likely the process is killed at each place where it may be.
KILLS = 0.02
# Of so many histories, some have each thing that is looked for.
ENOUGH = 100
REPAIRABLE = ("missing", "orphaned", "shelved", "two-hosts")


@contextmanager
def watched(cloud: Cloud, events: Iterator[Event], rng: Random, kills: float) -> Iterator[Watched]:
    with TemporaryDirectory() as name:
        budget = Budget(
            rounds=2,
            subjects_per_hour=PER_HOUR,
            subjects_per_day=PER_DAY,
            findings_share=1.0,
            pause=f"{name}/pause",
        )
        # Everything may be written: what must not be is left out by the product, not by a policy.
        policy = Policy(default="automatic", automatic=budget)
        yield Watched(cloud, events, rng, Path(name), policy, kills)


def plant(one: Watched, kinds: tuple[str, ...]) -> None:
    event = Event("plant", (one.rng.choice(SERVERS), one.rng.choice(kinds)))
    with suppress(Impossible):
        happen(event, one.cloud)
        one.log.append(str(event))


def story(seed: int, one: Watched) -> str:
    return f"seed {seed}:\n  " + "\n  ".join(one.log)


def is_within_budget(one: Watched) -> bool:
    for hours, limit in ((1, PER_HOUR), (24, PER_DAY)):
        for first in one.writes:
            until = first.at + timedelta(hours=hours)
            within = [row for row in one.writes if first.at <= row.at < until]
            if len({change.consumer for row in within for change in row.changes}) > limit:
                return False
    return True


def check(seed: int, one: Watched) -> None:
    """No wrong write, within the budget, and nothing is repaired twice."""
    assert not one.violations, f"{one.violations}; {story(seed, one)}"
    assert is_within_budget(one), story(seed, one)
    often = Counter(why for row in one.writes for why in row.because)
    assert set(often.values()) <= {1}, f"{often.most_common(1)} {story(seed, one)}"


def live(one: Watched) -> int:
    """Rounds, with drift planted between them, and a person who ends stops; how many there were."""
    stops = 0
    for _ in range(one.rng.randint(6, 16)):
        if one.rng.random() < 0.3:
            plant(one, tuple(DRIFTS))
        if one.rng.random() < 0.2:
            settle(one.cloud)
        one.round()
        stops += one.stopped
        if one.stopped and one.rng.random() < 0.6:
            one.release()
    return stops


@pytest.mark.timeout(3600)
def test_repairs_are_right_within_the_budget_and_do_not_oscillate() -> None:
    """While operations go on, services die and cells fall silent, with drift planted on top.

    In every second history the process is killed now and then.
    """
    written = killed = stopped = 0
    for seed in seeds():
        rng = Random(seed)
        events = iter([event for event in history(seed) if event.verb != READ.verb])
        with watched(Cloud(), events, rng, KILLS * (seed % 2)) as one:
            play(islice(events, rng.randint(0, 40)), one.cloud, one.log)
            stopped += live(one)
            check(seed, one)
            written += len(one.writes)
            killed += one.killed
    assert HISTORIES < ENOUGH or (written and stopped and killed)


def rest(one: Watched, rounds: int) -> None:
    for _ in range(rounds):
        one.round()


@pytest.mark.timeout(3600)
def test_what_is_proven_is_repaired_in_a_cloud_at_rest() -> None:
    """And the process that is killed goes on, or leaves a sentence."""
    repaired = 0
    for seed in seeds():
        rng = Random(seed)
        with watched(quiet_cloud(seed).cloud, iter(()), rng, KILLS * (seed % 2)) as one:
            plant(one, REPAIRABLE)
            plant(one, REPAIRABLE)
            one.cloud.wait(4000)
            rest(one, 8)
            one.kills = 0.0
            rest(one, 2)
            check(seed, one)
            repaired += len(one.writes)
            assert one.stopped or not one.repairer.state.running, story(seed, one)
    assert HISTORIES < ENOUGH or repaired > HISTORIES // 10
