# SPDX-License-Identifier: Apache-2.0
"""Connections that stay out of their pool between two uses, each for a short time.

PERF: to get a connection from SQLAlchemy's pool, and to give it back, takes a tenth to a sixth of
the processor time of a small read.

A connection comes from the pool as before: there it is closed if it is too old, and pinged if it
was idle. Then it serves one block after the other until its time is over or it was idle, and goes
back.
"""

import math
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from threading import Lock
from types import TracebackType

from sqlalchemy import Connection, Engine, QueuePool
from sqlalchemy.exc import DBAPIError


class KeptConnections:
    """The connections of one pool. Safe for several threads.

    Who uses the pool while requests are served gets a connection here, or says so with `none_kept`,
    since the pool does not know that some of its connections are idle. As with a pool, a process
    that forks gives all of them up before.
    """

    def __init__(self, size: int | None, *, seconds: float, idle_seconds: float):
        """`size` is how many connections the pool keeps open; None means no limit.

        `seconds` after a connection came from the pool, or `idle_seconds` after it was in use,
        nobody gets it without the pool any more.
        """
        self._size, self._seconds, self._idle_seconds = size, seconds, idle_seconds
        # Held while the following are read or changed.
        self._changing = Lock()
        self._idle: defaultdict[Engine, list[_Taken]] = defaultdict(list)
        self._count = 0
        """How many connections are out of the pool, or are asked for."""
        self._asking = 0
        """How many threads ask the pool, wait for it, or use it themselves."""
        self._renewed_at = -math.inf
        """No connection from before this moment is kept (monotonic, in seconds)."""

    def take(self, engine: Engine) -> AbstractContextManager[Connection]:
        """A connection of this engine, which uses the pool, for a block. Raises what the pool does.

        SAFETY: only the connection of a block that succeeded, and that left no transaction open,
        is used again as it is. All others go back to the pool, which knows what to do with them.
        """
        with self._changing:
            idle, now = self._idle[engine], time.monotonic()
            if idle and self._is_kept(idle[-1], now):
                return idle.pop()
            self._asking += 1
            self._count += 1
            all_idle = [one for ones in self._idle.values() for one in ones]
            # Each has its turn in the pool: none is silent until a firewall drops it unnoticed.
            unwanted = [one for one in all_idle if not self._is_kept(one, now)]
            if not unwanted and self._size is not None and self._count > self._size:
                # SAFETY: the pool would open one more than it keeps, or wait for what is idle here.
                unwanted = all_idle[-1:]
            for one in unwanted:
                self._idle[one.engine].remove(one)
        try:
            for one in unwanted:
                self._put_back(one)
            return _Taken(self, engine, engine.connect(), since=now, used_at=now)
        except BaseException:
            with self._changing:
                self._count -= 1
            raise
        finally:
            with self._changing:
                self._asking -= 1

    def release(self, taken: "_Taken", error: BaseException | None) -> None:
        """Take it back from a block that ended, perhaps with an error."""
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            # The others, too, may be connections with a server that is gone.
            self._renewed_at = time.monotonic()
        is_clean = error is None and not taken.connection.in_transaction()
        pool = taken.engine.pool
        with self._changing:
            is_kept = is_clean and taken.since > self._renewed_at
            # The pool would close it, or another thread may wait for the pool.
            is_surplus = not isinstance(pool, QueuePool) or pool.overflow() > 0
            if is_kept and not is_surplus and not self._asking:
                taken.used_at = time.monotonic()
                self._idle[taken.engine].append(taken)
                return
        self._put_back(taken)

    @contextmanager
    def none_kept(self) -> Iterator[None]:
        """A block that uses the pool itself. Meanwhile it has all that are not in use."""
        with self._changing:
            self._asking += 1
        try:
            self.give_back()
            yield
        finally:
            with self._changing:
                self._asking -= 1

    def give_back(self) -> None:
        """Give all that are idle back to the pool, and those in use after their block."""
        with self._changing:
            self._renewed_at = time.monotonic()
            unwanted = [one for idle in self._idle.values() for one in idle]
            self._idle.clear()
        for one in unwanted:
            self._put_back(one)

    def _is_kept(self, taken: "_Taken", now: float) -> bool:
        is_idle = now - taken.used_at >= self._idle_seconds
        return max(self._renewed_at, now - self._seconds) < taken.since and not is_idle

    def _put_back(self, taken: "_Taken") -> None:
        try:
            taken.connection.close()
        finally:
            with self._changing:
                self._count -= 1


@dataclass(slots=True, eq=False)
class _Taken:
    """A connection that the pool gave, for one `with` block after the other."""

    owner: KeptConnections
    engine: Engine
    connection: Connection
    since: float
    """When the pool was asked for it (monotonic, in seconds)."""
    used_at: float
    """When the last block with it ended (the same)."""

    def __enter__(self) -> Connection:
        return self.connection

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.owner.release(self, error)
