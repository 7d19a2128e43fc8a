# SPDX-License-Identifier: Apache-2.0
"""Several processes, each with an application of its own on one database, at the same moment.

Processes rather than threads: what is tested are the locks of the database, not those of Python.
"""

import multiprocessing
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any

from tests.differential.calls import Call
from tests.differential.pair import Answer, ask
from tests.servers.placement import IMPLEMENTATIONS, NOAUTH
from tests.servers.wsgi import factory_named

SECONDS_TO_MEET = 60
# The libraries are loaded already; a process that starts afresh would load them for seconds.
_processes = multiprocessing.get_context("fork")


def contest(
    implementation: str, database_url: str, players: Sequence[Sequence[Call]]
) -> list[list[Answer]]:
    """The answers, round by round: in round n each player sends its nth request at once."""
    barrier = _processes.Barrier(len(players))
    ends, started = [], []
    for calls in players:
        ours, theirs = _processes.Pipe(duplex=False)
        work = (implementation, database_url, calls, barrier, theirs)
        process = _processes.Process(target=_play, args=work, daemon=True)
        process.start()
        # Without our copy of its end, a player that crashes is the end of its pipe.
        theirs.close()
        ends.append(ours)
        started.append(process)
    answers = [end.recv() for end in ends]
    for process in started:
        process.join()
    return [list(of_one_round) for of_one_round in zip(*answers, strict=True)]


def codes(answer: Answer) -> list[Any]:
    """The codes of an error document."""
    return [error.get("code") for error in answer.body]


def _play(
    implementation: str,
    database_url: str,
    calls: Sequence[Call],
    barrier: Barrier,
    results: Connection,
) -> None:
    application = factory_named(IMPLEMENTATIONS[implementation])(database_url, NOAUTH)
    answers = []
    for call in calls:
        barrier.wait(SECONDS_TO_MEET)
        answers.append(ask(application, call))
    results.send(answers)
    application.close()
