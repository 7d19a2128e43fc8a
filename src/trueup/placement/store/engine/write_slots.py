# SPDX-License-Identifier: Apache-2.0
"""Limits how many writes of one process are in the database at the same moment.

A write can wait for the lock of another session. If every thread of a process waited, none would
answer `GET /` and reads. So one thread, and one connection, are always left for these.
"""

import time
from threading import Lock, Semaphore

from trueup.placement.store.engine.errors import TooManyWaiting

_PATIENCE_SECONDS = 3.0
"""How long a write waits for a slot while no other write ends or begins.

It waits in the thread that is kept free. So `GET /` is not answered for so long once all other
threads wait for a lock; from then on further writes are refused at once. HAProxy checks every 2 s,
and takes a worker out after 3 missed answers. A shorter time refuses writes though no lock is held:
a database pauses for a second or two for a slow disk, for Galera's flow control, or on an
overloaded machine.
"""

_UNLIMITED = 2**31


class WriteSlots:
    """The slots of one process, without a limit until `leave_one_of` is called.

    `connections_max` is the number of connections that writes and reads share; None: no limit.
    """

    def __init__(self, connections_max: int | None):
        self._connections_max = connections_max
        self._limit: int | None = None
        self._free = Semaphore(_UNLIMITED)
        self._taking = Lock()
        self.moved_at = 0.0
        """When a write last began or ended, in monotonic seconds. Set it on release of a slot."""

    def leave_one_of(self, threads: int) -> None:
        """Keep one of these threads free. Their number may grow; one caller at a time."""
        connections = self._connections_max or threads
        limit = max(min(threads, connections) - 1, 1)
        if self._limit is None:
            self._free = Semaphore(limit)
        elif limit > self._limit:
            self._free.release(limit - self._limit)
        self._limit = limit

    def take(self) -> Semaphore:
        """A slot, for its owner to release. Raises TooManyWaiting."""
        free = self._free
        # Under a lock: who finds no slot free knows when the last write began.
        with self._taking:
            if free.acquire(blocking=False):
                self.moved_at = time.monotonic()
                return free
        self._wait_for(free)
        self.moved_at = time.monotonic()
        return free

    def _wait_for(self, free: Semaphore) -> None:
        """Wait for a slot. Raises TooManyWaiting if no other write begins or ends for a while."""
        while True:
            left = self.moved_at + _PATIENCE_SECONDS - time.monotonic()
            if left <= 0:
                raise TooManyWaiting
            if free.acquire(timeout=left):
                return
