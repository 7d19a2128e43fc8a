# SPDX-License-Identifier: Apache-2.0
"""A long day: instances live, services die at random, drift is planted, and `watch` is beside it.

Nothing that it confirms is false: either it was planted, or Nova leaked it, which plain SQL sees as
well. What is planted is found within two rounds, and repaired. `make day` runs this.
"""

import contextlib
import os
import random
import re
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import openstack
import pytest

from tests.real.cloud.catalog import TINY
from tests.real.cloud.churn import MOVES, churn, is_shelved, stays
from tests.real.cloud.day import Shown
from tests.real.cloud.deaths import Deaths, all_report, deaths_in
from tests.real.cloud.discrepancies import discrepancies, settled, under_way
from tests.real.cloud.openstack import Cloud, running_cloud
from tests.real.cloud.plants import OTHER, OWN, PLANTS, Plant, Planted
from tests.real.cloud.processes import CommandFailed, DidNotHappen, wait_until
from tests.real.cloud.tenant import InstanceInError, Ledger, Tenant
from tests.real.cloud.trueup import Trueup
from tests.real.cloud.watched import ROUND_SECONDS, Diary, Observer, observing
from tests.tree import REPOSITORY

MINUTES = float(os.environ.get("TRUEUP_MINUTES", "120"))
SEED = os.environ.get("TRUEUP_SEED") or secrets.token_hex(4)
FOLDER = Path(os.environ.get("TRUEUP_DAY") or tempfile.mkdtemp(prefix="trueup-day-"))
DEATHS_OF_A_CHAPTER = 5
DEAD_SECONDS, BETWEEN_SECONDS = (2, 40), (5, 30)
PLANTED_AT_ONCE = 2
# Evidence may change between the observations of a plan, or between plan and step.
REPAIRS = 3
REFUSED = re.compile(r'"Result": "refused".+?"Reason": "([^"]+)"', re.DOTALL)
# A round that has something new is followed after 60 s, and a round takes a while.
TWO_ROUNDS_SECONDS = 60 + ROUND_SECONDS * 1.1 + 60
SECONDS_TO_SETTLE = 240
# How much more of the memory the last third of the rounds may use than the first.
GROWTH, GROWTH_KIB = 1.10, 8192
WARM_UP_ROUNDS = 3


@dataclass
class Day:
    """One day: the cloud, what happens to it, and who watches."""

    cloud: Cloud
    deaths: Deaths
    observer: Observer
    diary: Diary
    random: random.Random

    def __post_init__(self) -> None:
        self.tenant, self.ledger = Tenant(self.cloud.connection), Ledger(self.cloud.connection)
        self.trueup = replace(Trueup(self.cloud.site), while_busy=True, interval_seconds=5)
        self.choices = tuple(self.random.choices((*MOVES, is_shelved), k=500))
        self.doomed: list[str] = []

    def chapter(self) -> None:
        """Instances come and go while services die, one at a time; then all is well again."""
        with self._churn():
            for _ in range(DEATHS_OF_A_CHAPTER):
                time.sleep(self.random.uniform(*BETWEEN_SECONDS))
                name = self._next_to_die()
                revive = self.deaths.kinds()[name]()
                self.diary.note(f"death of {name}")
                time.sleep(self.random.uniform(*DEAD_SECONDS))
                revive()
                self.diary.note(f"revival of {name}")
        all_report(self.cloud)

    def _next_to_die(self) -> str:
        """At random, and each once before one dies again."""
        if not self.doomed:
            self.doomed = sorted(self.deaths.kinds())
            self.random.shuffle(self.doomed)
        return self.doomed.pop()

    def evacuation(self) -> None:
        """A host dies, its instance is evacuated, and the host comes back after a while."""
        with self._churn(), _noted(self.diary, "evacuation"):
            server = self.tenant.boot(TINY, OWN)
            self.cloud.kill_compute(OWN)
            try:
                self.tenant.evacuate(server, OTHER)
                time.sleep(self.random.uniform(*DEAD_SECONDS))
            finally:
                self.cloud.revive_compute(OWN)
            self.tenant.delete(server)

    def quiet_point(self) -> None:
        """Nothing is under way: what the ledger has wrong is what Nova leaked."""
        for server in list(self.cloud.connection.compute.servers(all_projects=True)):
            # Nova cannot reset one that no cell has yet, and can delete it.
            with contextlib.suppress(openstack.exceptions.HttpException):
                self.cloud.connection.compute.reset_server_state(server, "error")
            with _noted(self.diary, "deletion of what is left"):
                self.tenant.delete(server)
        with _noted(self.diary, "all tasks are done"):
            wait_until(lambda: not under_way(self.cloud), "no task", SECONDS_TO_SETTLE)
        # nova-compute releases what an instance held a moment after it is gone.
        with contextlib.suppress(DidNotHappen):
            wait_until(lambda: not any(settled(discrepancies(self.cloud))), "nothing is wrong", 15)
        wrong = list(settled(discrepancies(self.cloud)))
        self.diary.note("quiet point", f"{len(wrong)} leaked by Nova")
        for one in wrong:
            self.diary.note("leaked", str(one))

    def plant(self, plants: tuple[Plant, ...]) -> None:
        """Each is found within two rounds while others boot; repaired, the ledger is right."""
        with self._churn():
            planted = [self._planted(one) for one in plants]
            at = datetime.now(UTC).replace(tzinfo=None)
            found = [one for one in planted if self._is_found(one, at)]
            self._repair(found)
            for one in found:
                wait_until(lambda it=one: self._is_right(it), f"{one.finding} is repaired", 5)
                self.diary.note("repaired", one.finding)

    def _repair(self, found: list[Planted]) -> None:
        """Plan and apply until all is right: Nova is at work, and may heal some of it first."""
        for _ in range(REPAIRS):
            if all(map(self._is_right, found)):
                return
            plan, planned = self.trueup.plan()
            try:
                if planned.rows:
                    self.trueup.apply(plan)
            except CommandFailed as error:
                # What Nova itself leaked is in the plan as well, and Nova may be at work on it.
                self.diary.note("a step was refused", "; ".join(REFUSED.findall(str(error))))
                self.diary.note("apply failed", str(error)[-1500:])

    def _planted(self, plant: Plant) -> Planted:
        one = plant(self.cloud, self.tenant, self.ledger)
        self.observer.planted[one.finding] = plant.__name__
        self.diary.note("planted", f"{plant.__name__}, {one.finding}")
        return one

    def _is_found(self, one: Planted, at: datetime) -> bool:
        """Wait until a round has found it, within two rounds; False: Nova has healed it before."""
        seen = self.observer.seen

        def is_over() -> bool:
            return one.finding in seen or (one.may_heal and self._is_right(one))

        wait_until(is_over, f"{one.finding} is found", TWO_ROUNDS_SECONDS + 30)
        if one.finding not in seen:
            self.diary.note("healed by Nova", one.finding)
            return False
        rounds = [row["at"] for row in self.observer.rounds]
        late = [row for row in rounds if at.isoformat() < row < seen[one.finding].isoformat()]
        self.diary.note("found in time", f"{one.finding}, in round {len(late) + 1}")
        assert len(late) < 2, (one, late)
        return True

    def _is_right(self, one: Planted) -> bool:
        return self.ledger.held_by(one.consumer) == one.right

    @contextlib.contextmanager
    def _churn(self) -> Iterator[None]:
        """In both cells; the only host of the second can move nothing to another."""

        def note(what: str) -> None:
            self.diary.note("failed" if ":" in what else "lived", what[:300])

        with (
            churn(self.cloud, 1, self.choices, OWN, note),
            churn(self.cloud, 1, (is_shelved, stays), "compute3", note),
        ):
            yield


@contextlib.contextmanager
def _noted(diary: Diary, what: str) -> Iterator[None]:
    """Nova may fail while services die: that is noted, and no failure of the day."""
    try:
        yield
    except (DidNotHappen, InstanceInError, openstack.exceptions.SDKException) as error:
        diary.note("failed", f"{what}: {error}"[:300])
    else:
        diary.note(what)


@pytest.fixture
def day() -> Iterator[Day]:
    FOLDER.mkdir(exist_ok=True)
    diary = Diary(FOLDER / "diary.txt")
    diary.note("seed", SEED)
    with (
        running_cloud(FOLDER / "cloud", "trueup") as cloud,
        deaths_in(cloud) as deaths,
        observing(cloud, diary) as observer,
    ):
        yield Day(cloud, deaths, observer, diary, random.Random(SEED))


def test_a_long_day(day):
    sys.stdout.write(f"TRUEUP_SEED={SEED} TRUEUP_MINUTES={MINUTES:g}: {day.diary.file}\n")
    began = time.monotonic()
    while time.monotonic() < began + MINUTES * 60:
        day.chapter()
        if day.random.random() < 0.5:
            day.evacuation()
        day.quiet_point()
        day.plant(tuple(day.random.sample(PLANTS, PLANTED_AT_ONCE)))
        day.quiet_point()
    minutes = (time.monotonic() - began) / 60
    first, last = thirds(day.observer.memory_kib)
    shown = Shown(SEED, minutes, day.diary, day.observer, first, last)
    assert day.observer.false == []
    assert last <= first * GROWTH + GROWTH_KIB
    shown.write(REPOSITORY / "docs" / "verified.md")


def thirds(memory: list[int]) -> tuple[int, int]:
    """The medians of the first and of the last third of the rounds, without the warming up."""
    rounds = memory[WARM_UP_ROUNDS:]
    part = max(1, len(rounds) // 3)
    return int(statistics.median(rounds[:part])), int(statistics.median(rounds[-part:]))
