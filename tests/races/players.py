# SPDX-License-Identifier: Apache-2.0
"""Processes, each with an application of its own, that send requests at the same moment.

Processes rather than threads: what is tested are the locks of the database, not those of Python.
"""

import contextlib
import multiprocessing
import random
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier

from tests.differential.calls import Call
from tests.differential.pair import Answer, ask
from tests.servers.placement import NOAUTH
from trueup.placement.app import make_app

SECONDS_TO_MEET = 60
HEAD_START_SECONDS_MAX = 0.001
# The libraries are loaded already; a process that starts afresh would load them for seconds.
_processes = multiprocessing.get_context("fork")


class Players:
    """One for each URL; all of them play the same rounds."""

    def __init__(self, ends: Sequence[Connection]):
        self._ends = ends

    def play(
        self, hands: Sequence[Sequence[Call]], *, in_step: bool = True
    ) -> list[tuple[Answer, ...]]:
        """The answers, round by round: player m sends the nth request of its hand in round n.

        Not in step, nobody waits for a player whose database is away.
        """
        self.deal(hands, in_step=in_step)
        return self.results()

    def deal(self, hands: Sequence[Sequence[Call]], *, in_step: bool) -> None:
        """Let them begin; whoever deals asks for the results later."""
        for end, calls in zip(self._ends, hands, strict=True):
            end.send((list(calls), in_step))

    def results(self) -> list[tuple[Answer, ...]]:
        return list(zip(*(end.recv() for end in self._ends), strict=True))


@contextlib.contextmanager
def players(urls: Sequence[str]) -> Iterator[Players]:
    """An application on each of these databases, until the block ends."""
    barrier = _processes.Barrier(len(urls))
    ends, started = [], []
    for number, url in enumerate(urls):
        ours, theirs = _processes.Pipe()
        work = (number, url, barrier, theirs)
        process = _processes.Process(target=_play, args=work, daemon=True)
        process.start()
        # Without our copy of its end, a player that crashes is the end of its pipe.
        theirs.close()
        ends.append(ours)
        started.append(process)
    try:
        yield Players(ends)
        for end in ends:
            end.send(None)
        for process in started:
            process.join(SECONDS_TO_MEET)
    finally:
        for process in started:
            process.kill()


def _play(number: int, url: str, barrier: Barrier, end: Connection) -> None:
    chance = random.Random(number)
    application = make_app(url, NOAUTH)
    while (dealt := end.recv()) is not None:
        calls, in_step = dealt
        answers = []
        for call in calls:
            if in_step:
                barrier.wait(SECONDS_TO_MEET)
                _spin(chance.random() * HEAD_START_SECONDS_MAX)
            answers.append(ask(application, call))
        end.send(answers)
    application.close()


def _spin(seconds: float) -> None:
    """Stay on the processor: so short a sleep would end when the kernel likes."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass
