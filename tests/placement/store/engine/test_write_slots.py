# SPDX-License-Identifier: Apache-2.0
"""Writes that wait leave a thread and a connection to others."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Semaphore
from types import SimpleNamespace

import pytest

from trueup.placement.store.engine import write_slots
from trueup.placement.store.engine.errors import TooManyWaiting
from trueup.placement.store.engine.write_slots import WriteSlots


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that cannot get a slot is refused soon."""
    monkeypatch.setattr(write_slots, "_PATIENCE_SECONDS", 0.01)


def slots(threads: int, connections: int | None = None) -> WriteSlots:
    made = WriteSlots(connections)
    made.leave_one_of(threads)
    return made


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("threads", "connections", "writes"),
    [(2, None, 1), (4, None, 3), (4, 2, 1), (8, 5, 4), (4, 1, 1)],
)
def test_one_thread_and_one_connection_stay_free(
    threads: int, connections: int | None, writes: int
) -> None:
    some = slots(threads, connections)
    for _ in range(writes):
        some.take()
    with pytest.raises(TooManyWaiting):
        some.take()


def test_one_thread_alone_has_no_limit() -> None:
    """Commands, and programs that embed the database, have all their threads for themselves."""
    some = WriteSlots(None)
    for _ in range(8):
        some.take()


def test_a_thread_that_shows_itself_later_makes_room() -> None:
    some = slots(2)
    first = some.take()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(some.take)
        some.leave_one_of(3)
        waiting.result().release()
    first.release()
    some.take()
    some.take()
    with pytest.raises(TooManyWaiting):
        some.take()


def test_writes_that_get_on_are_waited_for() -> None:
    """With any number of writes ahead: waiting is useless only if none of them ends."""
    some = slots(2)
    first = some.take()
    with ThreadPoolExecutor(8) as pool:
        all_of_them = pool.map(lambda _: some.take().release(), range(200))
        first.release()
        assert len(list(all_of_them)) == 200


def test_two_writes_that_begin_at_once_after_a_quiet_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second comes when the first has its slot, and has not yet said that it began."""
    some = slots(2)
    second: list[Future[Semaphore]] = []

    def monotonic() -> float:
        if not second:
            second.append(pool.submit(some.take))
            with suppress(TimeoutError, TooManyWaiting):
                second[0].result(timeout=0.2)
        return time.monotonic()

    monkeypatch.setattr(write_slots, "time", SimpleNamespace(monotonic=monotonic))
    with ThreadPoolExecutor(1) as pool:
        some.take().release()
        second[0].result().release()
