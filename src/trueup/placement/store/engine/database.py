# SPDX-License-Identifier: Apache-2.0
"""The database of one application: connections, transactions, and starting a transaction again.

`transaction()` is for writes: it commits when its block ends, and rolls back when the block raises.
`reading()` is for reads: one statement is always consistent in itself, and with `snapshot=True` all
statements of the block see the same moment.
"""

import functools
import importlib.util
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.pool import NullPool, QueuePool

from trueup.model.errors import ConcurrentUpdate
from trueup.placement.meter import IGNORED, Meter
from trueup.placement.store import own_tables
from trueup.placement.store.engine import changes, reporting
from trueup.placement.store.engine.errors import Meaning, TooManyWaiting, meaning_of
from trueup.placement.store.engine.sessions import (
    IN_MEMORY,
    PREPARE_THRESHOLD,
    WRITES_FIRST,
    DatabaseOptions,
    Sharing,
    prepare_sessions,
)
from trueup.placement.store.engine.statements import AUTOCOMMIT
from trueup.placement.store.engine.write_slots import WriteSlots

Transaction = Connection
"""The first argument of the functions of the store; callers only pass it on."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

_ATTEMPTS_MAX = 20
_PAUSE_SECONDS = 0.01

_DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}
_MYSQLCLIENT = "MySQLdb"
_NOT_OF_URLS = frozenset({"autocommit", "context", "cursor_factory", "row_factory"})
"""Parameters of psycopg that have no text form, or that Trueup sets itself."""
_CAN_SKIP_ROLLBACK = "skip_autocommit_rollback" in signature(DefaultDialect).parameters
"""SQLAlchemy before 2.0.43 sends a ROLLBACK that does nothing, after each block of reads."""


class ChangedMeanwhile(Exception):
    """A row that a transaction read without a lock was changed before it could write."""


class Database:
    """One database. Safe to use from several threads; independent of all others."""

    def __init__(self, url: str, options: DatabaseOptions | None = None):
        options = options or DatabaseOptions()
        parsed = _with_installed_driver(make_url(url))
        if options.parameters:
            parsed = parsed.update_query_string(options.parameters, append=True)
        self._engine = create_engine(parsed, **_engine_arguments(parsed, options))
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        self.is_in_memory = self.is_sqlite and parsed.database in IN_MEMORY
        self._sharing = Sharing()
        prepare_sessions(self._engine, parsed, options, self._sharing)
        # On SQLite every transaction is a snapshot; on MySQL, `_snapshot` sets the level of each.
        self._is_mysql = parsed.get_backend_name() == "mysql"
        self._snapshots = (
            self._engine.execution_options(isolation_level="REPEATABLE READ")
            if not self.is_sqlite and not self._is_mysql
            else self._engine
        )
        self._readers = _readers_of(self._engine, parsed, options, self._sharing)
        self._writers, self._repairers = _writers_of(self._engine)
        self.lock_wait_seconds = options.lock_wait_seconds
        """How long a transaction may wait for a lock; None: as long as the server lets it."""
        self.write_slots = WriteSlots(reporting.connections_max(self._engine))
        """For servers that run requests in several threads."""
        self.meter = IGNORED
        """Counts conflicts, statements and connections."""
        self.published_count = 0
        """Grows with each change that this process publishes. Other processes publish, too."""
        # SAFETY: by process, because two processes must not share a writer.
        self._idle_writers: dict[int, list[changes.Writer]] = {}

    @contextmanager
    def transaction(self, *, alone: bool = False) -> Iterator[Transaction]:
        """A transaction that writes, and publishes its noted changes.

        `alone` is for repairs: the block fails if another transaction interferes.

        SAFETY: a block locks the rows it decides by before it reads them. On SQLite the whole
        database is locked from the start. Raises TooManyWaiting before anything is done.
        """
        slot = self.write_slots.take()
        idle = self._idle_writers.setdefault(os.getpid(), [])
        writer, keeps_writer, progressed = idle.pop() if idle else changes.Writer(), False, True
        engine = self._repairers if alone else self._writers
        try:
            with engine.connect() as connection:
                noted: set[str] = set()
                connection.info[changes.NOTED] = noted
                with connection.begin():
                    yield connection
                    writer = changes.publish(connection, noted, writer)
            keeps_writer, writer.committed = True, writer.sequence
            self.published_count += bool(noted)
        except DBAPIError as error:
            # SAFETY: after a lost connection the server may still execute the sent statements.
            keeps_writer = not error.connection_invalidated
            progressed = meaning_of(error) is not Meaning.LOCKED
            raise
        except Exception:
            keeps_writer = True
            raise
        finally:
            if keeps_writer:
                idle.append(writer)
            if progressed:
                self.write_slots.moved_at = time.monotonic()
            slot.release()
        if writer.is_new:
            # A few rows for each new one, so that the table stays small.
            self.forget_unused_writers(changes.forget_some_unused)

    def reading(self, *, snapshot: bool = False) -> AbstractContextManager[Transaction]:
        """A block that writes nothing."""
        if snapshot:
            return self._snapshot()
        tx = self._readers.connect()
        if self._is_mysql and self._sharing.is_possible:
            # A proxy may send statements outside of transactions to a replica, which is behind.
            tx.close()
            tx = self._engine.connect()
        return tx

    @contextmanager
    def _snapshot(self) -> Iterator[Transaction]:
        with self._snapshots.connect() as connection:
            if self._is_mysql and self._sharing.is_possible:
                connection.execution_options(isolation_level="REPEATABLE READ")
            elif self._is_mysql:
                # PERF: for this transaction only; changing the session and back takes more
                # round trips.
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield connection
            # PERF: after a rollback psycopg forgets the statements that it prepared, and
            # PostgreSQL plans each of them again; the reads of a claim take seven times as long to
            # plan as to execute.
            connection.commit()

    def report_to(self, meter: Meter) -> None:
        """Report conflicts, statements and connections to this meter from now on."""
        self.meter = meter
        reporting.report(self._own_engines(), meter)

    def trace_statements(self) -> None:
        """Report each statement of a traced request to osprofiler. Raises ImportError."""
        reporting.trace(self._own_engines())

    def _own_engines(self) -> tuple[Engine, ...]:
        """The engines, each with a pool of its own."""
        engines = self._readers, self._engine
        return tuple({id(engine.pool): engine for engine in engines}.values())

    def add_own_tables(self) -> None:
        """Create Trueup's own tables where they are missing."""
        own_tables.add(self._engine.execution_options(**WRITES_FIRST))

    def forget_unused_writers(self, forget: Callable[[Transaction], None]) -> None:
        """Remove rows of unused writers; a failure is ignored.

        The caller's own write is committed already. Another process, or the next new writer,
        removes the rows that stay.
        """
        with suppress(SQLAlchemyError, TooManyWaiting), self.transaction() as tx:
            forget(tx)

    def close(self) -> None:
        """Release all connections."""
        self._engine.dispose()
        self._readers.dispose()

    @property
    def engine(self) -> Engine:
        """For the schema, and for tests that count statements."""
        return self._engine


def in_transaction(
    function: Callable[Concatenate[Transaction, _Arguments], _Result],
) -> Callable[Concatenate[Database, _Arguments], _Result]:
    """Make a function one transaction of a database.

    The function starts again after a conflict with another writer. A duplicate key is a conflict
    too: the next attempt sees the row of the other writer. Raises ConcurrentUpdate after too many
    attempts. The function also starts again, once, after a lost connection. If it does not get a
    lock in time, it raises the error of the database.
    """

    @functools.wraps(function)
    def until_alone(
        database: Database, /, *arguments: _Arguments.args, **keywords: _Arguments.kwargs
    ) -> _Result:
        was_lost = False
        may_wait_until = time.monotonic() + (database.lock_wait_seconds or 0)
        for attempt in range(_ATTEMPTS_MAX):
            is_decided = False
            try:
                with database.transaction() as tx:
                    result = function(tx, *arguments, **keywords)
                    is_decided = True
                return result
            except ChangedMeanwhile:
                # The other transaction has ended.
                database.meter.transaction_restarted(reporting.CHANGED)
                continue
            except DBAPIError as error:
                if own_tables.is_missing(error):
                    # `db detach` was run while the service is up.
                    database.add_own_tables()
                    continue
                # SAFETY: after a connection is lost in a commit, its result is unknown.
                is_lost = error.connection_invalidated and not is_decided
                is_early = time.monotonic() < may_wait_until
                if not _is_conflict(error, is_early) and (was_lost or not is_lost):
                    raise
                was_lost = was_lost or is_lost
                database.meter.transaction_restarted(reporting.reason_of(error))
                # The pause is random, so that the same two writers do not meet again.
                time.sleep(_PAUSE_SECONDS * min(attempt, 10) * random.random())
        database.meter.transaction_given_up()
        raise ConcurrentUpdate

    return until_alone


def _is_conflict(error: DBAPIError, is_early: bool) -> bool:
    """Whether the next attempt may succeed, because it sees what another transaction wrote."""
    if isinstance(error, IntegrityError):
        return True
    meaning = meaning_of(error)
    # SQLite refuses some locks without waiting for them.
    return meaning is Meaning.CONFLICT or (meaning is Meaning.LOCKED and is_early)


def _with_installed_driver(url: URL) -> URL:
    """The URL with the driver that Trueup installs; other services use others.

    mysqlclient is used where the URL names it and it is installed.
    """
    if url.get_backend_name() == "mariadb":
        # SQLAlchemy's other name for the same servers.
        url = url.set(drivername=url.drivername.replace("mariadb", "mysql", 1))
    backend = url.get_backend_name()
    if url.drivername == "mysql+mysqldb" and importlib.util.find_spec(_MYSQLCLIENT):
        return url
    if backend in _DRIVERS and url.get_driver_name() in {"psycopg2", "mysqldb", "default"}:
        return url.set(drivername=_DRIVERS[backend])
    if url.drivername in _DRIVERS:
        return url.set(drivername=_DRIVERS[url.drivername])
    return url


def _engine_arguments(url: URL, options: DatabaseOptions) -> dict[str, Any]:
    if url.get_backend_name() == "sqlite":
        if url.database in IN_MEMORY:
            # A database in memory exists only in its connection.
            single = {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0}
            return {**single, "connect_args": {"check_same_thread": False}}
        return {"poolclass": NullPool} if options.pool_size == 0 else {}
    sizes = {
        "pool_size": options.pool_size,
        "max_overflow": options.overflow,
        "pool_timeout": options.pool_timeout_seconds,
    }
    return {
        # SAFETY: each statement must see all earlier commits, above all the sum of usage that is
        # read after waiting for a lock. A snapshot from before the wait lacks them.
        "isolation_level": "READ COMMITTED",
        "pool_recycle": options.recycle_seconds,
        # PERF: one round trip less for a write by PyMySQL, 7 % of a small one. SAFETY: each user
        # of a connection, here and in migrations, closes it, which rolls back its transaction.
        "pool_reset_on_return": None,
        "connect_args": _of_psycopg(url) if url.get_driver_name() == "psycopg" else {},
        **{name: value for name, value in sizes.items() if value is not None},
    }


def _of_psycopg(url: URL) -> dict[str, int | None]:
    """The parameters of psycopg that are not texts. Raises ArgumentError."""
    for name in _NOT_OF_URLS & set(url.query):
        raise ArgumentError(f"{name} is not a parameter for URLs")
    said = url.query.get(PREPARE_THRESHOLD)
    if said is None:
        return {}
    if said == "none":
        return {PREPARE_THRESHOLD: None}
    if not isinstance(said, str) or not said.isdecimal():
        raise ArgumentError(f"{PREPARE_THRESHOLD} must be a number, or 'none'")
    return {PREPARE_THRESHOLD: int(said)}


def _writers_of(engine: Engine) -> tuple[Engine, Engine]:
    """The engines for transactions that write: for requests, and for repairs."""
    if engine.dialect.name == "sqlite":
        writers = engine.execution_options(**WRITES_FIRST)
        return writers, writers
    return engine, engine.execution_options(isolation_level="SERIALIZABLE")


def _readers_of(engine: Engine, url: URL, options: DatabaseOptions, sharing: Sharing) -> Engine:
    """The engine for reads of single statements, with autocommit where the database has it.

    PERF: BEGIN and ROLLBACK take a fifth to a third of the CPU of a small query. psycopg can omit
    them. PyMySQL would need a round trip for each change of the mode, so with MySQL each mode has
    connections of its own.
    """
    if url.get_backend_name() == "postgresql":
        return engine.execution_options(isolation_level="AUTOCOMMIT", **{AUTOCOMMIT: True})
    if url.get_backend_name() == "mysql":
        alone: dict[str, Any] = {"isolation_level": "AUTOCOMMIT"}
        if _CAN_SKIP_ROLLBACK:
            alone["skip_autocommit_rollback"] = True
        readers = create_engine(url, **{**_engine_arguments(url, options), **alone})
        readers.update_execution_options(**{AUTOCOMMIT: True})
        prepare_sessions(readers, url, options, sharing)
        return readers
    return engine
