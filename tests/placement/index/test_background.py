# SPDX-License-Identifier: Apache-2.0
import logging
import sys
import threading

import pytest

from tests.placement.index.watching import Clock
from trueup.placement.index.background import BackgroundTask, short_turns


class Work:
    """Counts its runs. Each takes that many seconds, and waits until it may end."""

    def __init__(self, clock: Clock, seconds: float = 0.0):
        self.clock, self.seconds = clock, seconds
        self.runs = 0
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.may_end.set()

    def __call__(self) -> None:
        self.runs += 1
        self.begun.set()
        assert self.may_end.wait(30)
        self.clock.seconds += self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def asked(task: BackgroundTask, clock: Clock, after: float) -> None:
    clock.seconds += after
    task.ask()


def test_a_late_request_waits_for_a_run(clock: Clock) -> None:
    work = Work(clock)
    task = BackgroundTask(work, clock)
    asked(task, clock, after=1)
    assert work.runs == 0
    asked(task, clock, after=4)
    assert work.runs == 1
    asked(task, clock, after=1)
    assert work.runs == 1
    asked(task, clock, after=4)
    assert work.runs == 2


def test_a_request_in_time_does_not_wait_and_starts_one_run(clock: Clock) -> None:
    work = Work(clock)
    work.may_end.clear()
    task = BackgroundTask(work, clock)
    asked(task, clock, after=2)
    assert work.begun.wait(30)
    asked(task, clock, after=1)
    assert work.runs == 1
    work.may_end.set()


@pytest.mark.parametrize(("chance", "pause_seconds"), [(0.0, 40), (0.5, 30), (1.0, 20)])
def test_a_run_that_takes_long_is_followed_by_a_long_pause(
    clock: Clock, chance: float, pause_seconds: float
) -> None:
    """The pause is random, so that workers that begin together do not run at the same moments."""
    work = Work(clock, seconds=1)
    task = BackgroundTask(work, clock, chance=lambda: chance)
    asked(task, clock, after=5)
    asked(task, clock, after=pause_seconds - 1)
    assert work.runs == 1
    asked(task, clock, after=1 + 3)
    assert work.runs == 2


def test_a_run_that_fails_is_logged_and_tried_again(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Work):
        def __call__(self) -> None:
            super().__call__()
            raise OSError("the server is away")

    work = Failing(clock)

    def find_something() -> None:
        work()

    task = BackgroundTask(find_something, clock)
    with caplog.at_level(logging.WARNING):
        asked(task, clock, after=5)
        asked(task, clock, after=5)
    assert work.runs == 2
    assert "the server is away" in caplog.text


def test_no_request_waits_for_a_run_as_long_as_the_one_before(clock: Clock) -> None:
    work = Work(clock, seconds=4)
    task = BackgroundTask(work, clock, chance=lambda: 0.0)
    asked(task, clock, after=5)
    work.begun.clear()
    work.may_end.clear()
    asked(task, clock, after=161)
    assert work.begun.wait(30)
    clock.seconds += 5
    asking = threading.Thread(target=task.ask, daemon=True)
    asking.start()
    # Less than it would wait.
    asking.join(5)
    assert not asking.is_alive()
    work.may_end.set()


def test_the_other_threads_wait_less_while_a_block_has_short_turns() -> None:
    usual = sys.getswitchinterval()
    found = []

    def fail() -> None:
        with short_turns():
            found.append(sys.getswitchinterval())
            raise OSError("the server is away")

    with pytest.raises(OSError, match="away"):
        fail()
    assert found[0] < usual
    assert sys.getswitchinterval() == usual
