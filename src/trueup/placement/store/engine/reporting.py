# SPDX-License-Identifier: Apache-2.0
"""Reports statements, connections and conflicts to a meter, and statements to osprofiler."""

from collections.abc import Sequence
from threading import Lock
from typing import Any

import sqlalchemy
from sqlalchemy import Engine, event
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.pool import QueuePool

from trueup.placement.meter import Meter
from trueup.placement.store.engine.errors import Meaning, meaning_of

CHANGED = "changed"
"""A transaction started again, because another one changed a row that it had read."""

_REASONS = {Meaning.CONFLICT: "conflict", Meaning.LOCKED: "locked"}


def reason_of(error: DBAPIError) -> str:
    """Why a transaction starts again after this error, in one word."""
    if isinstance(error, IntegrityError):
        return "duplicate"
    return _REASONS.get(meaning_of(error) or Meaning.AWAY, "lost")


def report(engines: Sequence[Engine], meter: Meter) -> None:
    """Report to the meter what happens on these engines, each with a pool of its own."""
    counting, count = Lock(), 0
    limits = [connections_max(engine) for engine in engines]
    most = sum(limit or 0 for limit in limits) if all(limits) else None

    def change(by: int) -> None:
        nonlocal count
        with counting:
            count += by
            meter.connections_open(count, most)

    def count_statement(*_context: Any) -> None:
        meter.statement_sent()

    for engine in engines:
        # PERF: an event for each checkout of a connection would cost as much as all the others.
        event.listen(engine, "before_cursor_execute", count_statement)
        event.listen(engine, "connect", lambda *_: change(1))
        event.listen(engine, "close", lambda *_: change(-1))


def trace(engines: Sequence[Engine]) -> None:
    """Report each statement of a traced request to osprofiler. Raises ImportError."""
    # PERF: the library is optional, and imported only where it is used.
    from osprofiler import sqlalchemy as tracing

    for engine in engines:
        tracing.add_tracing(sqlalchemy, engine, "db")


def connections_max(engine: Engine) -> int | None:
    """The most connections that the pool opens; None means no limit."""
    pool = engine.pool
    # SQLAlchemy has no public name for the overflow; 0 connections, and -1, mean no limit.
    if not isinstance(pool, QueuePool) or pool.size() == 0 or pool._max_overflow < 0:
        return None
    return pool.size() + pool._max_overflow
