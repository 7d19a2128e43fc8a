# SPDX-License-Identifier: Apache-2.0
"""The database of one application: connections, transactions, and starting a transaction again.

`transaction()` is for writes: it commits when its block ends, and rolls back when the block raises.
`reading()` is for reads: one statement is always consistent in itself, and with `snapshot=True` all
statements of the block see the same moment.
"""

import functools
import math
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, DisconnectionError, IntegrityError
from sqlalchemy.pool import NullPool, QueuePool

from trueup.model.errors import ConcurrentUpdate
from trueup.placement.store import own_tables
from trueup.placement.store.engine import changes

Transaction = Connection
"""What the functions of the store take; callers only pass it on."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

_TRUSTED_UNTIL = "trueup trusted until"
_TRUSTED_SECONDS = 1.0

_LISTS_LENGTH_MAX = 2**30

_ATTEMPTS_MAX = 20
_PAUSE_SECONDS = 0.01

_MYSQL_CONFLICTS = frozenset({1020, 1205, 1213})  # changed row, lock wait timeout, deadlock
_POSTGRESQL_CONFLICTS = frozenset({"40001", "40P01", "55P03"})

_IN_MEMORY = frozenset({None, "", ":memory:"})
_DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}


class ChangedMeanwhile(Exception):
    """What a transaction read without a lock was changed before it could write: it starts again."""


@dataclass(frozen=True, slots=True)
class DatabaseOptions:
    """How connections are made and kept. Seconds; None leaves the library's default.

    `parameters` are added to the query of the URL; without `sql_mode`, MySQL has the server's.
    """

    parameters: str = ""
    pool_size: int | None = None
    overflow: int | None = None
    pool_timeout_seconds: int | None = None
    recycle_seconds: int = 3600
    busy_timeout_seconds: int = 30
    synchronous: bool = True
    sql_mode: str = "TRADITIONAL"


class Database:
    """One database. Safe to use from several threads; independent of all others."""

    def __init__(self, url: str, options: DatabaseOptions | None = None):
        options = options or DatabaseOptions()
        parsed = _with_installed_driver(make_url(url))
        if options.parameters:
            parsed = parsed.update_query_string(options.parameters, append=True)
        self._engine = create_engine(parsed, **_engine_arguments(parsed, options))
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        self.is_in_memory = self.is_sqlite and parsed.database in _IN_MEMORY
        _control(self._engine, parsed, options)
        # On SQLite every transaction is a snapshot, and MySQL is told before each one.
        self._is_mysql = parsed.get_backend_name() == "mysql"
        self._snapshots = (
            self._engine.execution_options(isolation_level="REPEATABLE READ")
            if not self.is_sqlite and not self._is_mysql
            else self._engine
        )
        self._readers = _readers_of(self._engine, parsed, options)
        # SAFETY: by process, for two of them must not number their changes in one row.
        self._idle_writers: dict[int, list[changes.Writer]] = {}

    @contextmanager
    def transaction(self, *, alone: bool = False) -> Iterator[Transaction]:
        """A block that writes all or nothing, and publishes what it noted as changed.

        `alone` is for repairs: with it the block fails if another transaction interferes.

        SAFETY: a block that decides by rows locks them before it reads them. On SQLite the whole
        database is locked from the start.
        """
        idle = self._idle_writers.setdefault(os.getpid(), [])
        options = {"trueup_begin": "BEGIN IMMEDIATE"}
        if alone and not self.is_sqlite:
            options["isolation_level"] = "SERIALIZABLE"
        with self._engine.connect() as connection:
            connection = connection.execution_options(**options)
            noted: set[str] = set()
            connection.info[changes.NOTED] = noted
            writer = _take_writer(idle)
            try:
                with connection.begin():
                    yield connection
                    changes.publish(connection, noted, writer)
            finally:
                # SAFETY: after a lost connection the server may still execute what was sent.
                if not connection.invalidated:
                    idle.append(writer)
        if writer.is_new:
            self._forget_unused_writers()

    @contextmanager
    def reading(self, *, snapshot: bool = False) -> Iterator[Transaction]:
        """A block that writes nothing."""
        engine = self._snapshots if snapshot else self._readers
        with engine.connect() as connection:
            if snapshot and self._is_mysql:
                # PERF: for one transaction; two changes of the session take four round trips.
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield connection

    def add_own_tables(self) -> None:
        """Create those of Trueup's own tables that are missing."""
        own_tables.add(self._engine)

    def _forget_unused_writers(self) -> None:
        """As rows come, others go: so there are never many, however long processes serve."""
        # Somebody else is at it, or the next new writer will be.
        with suppress(DBAPIError), self.transaction() as tx:
            changes.forget_some_unused(tx)

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
    """Make a function one transaction of a database, all of it or nothing.

    The function starts again after a conflict with another writer. A duplicate key is a conflict
    too: the next attempt sees the row of the other writer. Raises ConcurrentUpdate after too many
    attempts. The function also starts again, once, after a lost connection.
    """

    @functools.wraps(function)
    def until_alone(
        database: Database, /, *arguments: _Arguments.args, **keywords: _Arguments.kwargs
    ) -> _Result:
        was_lost = False
        for attempt in range(_ATTEMPTS_MAX):
            is_decided = False
            try:
                with database.transaction() as tx:
                    result = function(tx, *arguments, **keywords)
                    is_decided = True
                return result
            except ChangedMeanwhile:
                # The other transaction has ended.
                continue
            except DBAPIError as error:
                if own_tables.is_missing(error):
                    # `db detach` was run while the service is up.
                    database.add_own_tables()
                    continue
                # SAFETY: after a connection is lost in a commit, the result of it is unknown.
                is_lost = error.connection_invalidated and not is_decided
                if not _is_conflict(error) and (was_lost or not is_lost):
                    raise
                was_lost = was_lost or is_lost
                # The pause is random, so that the same two writers do not meet again.
                time.sleep(_PAUSE_SECONDS * min(attempt, 10) * random.random())
        raise ConcurrentUpdate

    return until_alone


def _take_writer(idle: list[changes.Writer]) -> changes.Writer:
    try:
        return idle.pop()
    except IndexError:
        return changes.Writer()


def _is_conflict(error: DBAPIError) -> bool:
    if isinstance(error, IntegrityError):
        return True
    original = error.orig
    state = getattr(original, "sqlstate", None) or getattr(original, "pgcode", None)
    if state in _POSTGRESQL_CONFLICTS:
        return True
    first = original.args[0] if original is not None and original.args else None
    return first in _MYSQL_CONFLICTS or "database is locked" in str(first)


def _with_installed_driver(url: URL) -> URL:
    """The URL with the driver that Trueup installs; other services use others."""
    backend = url.get_backend_name()
    if backend in _DRIVERS and url.get_driver_name() in {"psycopg2", "mysqldb", "default"}:
        return url.set(drivername=_DRIVERS[backend])
    if url.drivername in _DRIVERS:
        return url.set(drivername=_DRIVERS[url.drivername])
    return url


def _engine_arguments(url: URL, options: DatabaseOptions) -> dict[str, Any]:
    if url.get_backend_name() == "sqlite":
        if url.database in _IN_MEMORY:
            # A database in memory exists in its connection, so there is only one.
            single = {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0}
            return {**single, "connect_args": {"check_same_thread": False}}
        return {"poolclass": NullPool} if options.pool_size == 0 else {}
    sizes = {
        "pool_size": options.pool_size,
        "max_overflow": options.overflow,
        "pool_timeout": options.pool_timeout_seconds,
    }
    return {
        # SAFETY: each statement must see what was committed before it, above all the sum of
        # usage read after a lock was waited for. A snapshot from before the wait would not.
        "isolation_level": "READ COMMITTED",
        "pool_recycle": options.recycle_seconds,
        # PERF: one round trip less for a write by PyMySQL, 7 % of a small one. SAFETY: whoever
        # gets a connection, here or in migrations, closes it, which rolls back what is open.
        "pool_reset_on_return": None,
        **{name: value for name, value in sizes.items() if value is not None},
    }


def _readers_of(engine: Engine, url: URL, options: DatabaseOptions) -> Engine:
    """The engine for reads of single statements, with autocommit where the database has it.

    PERF: BEGIN and ROLLBACK take a fifth to a third of the CPU of a small query. psycopg can leave
    them out. PyMySQL would need a round trip for each change of the mode, so with MySQL each
    mode has connections of its own.
    """
    if url.get_backend_name() == "postgresql":
        return engine.execution_options(isolation_level="AUTOCOMMIT")
    if url.get_backend_name() == "mysql":
        alone = {"isolation_level": "AUTOCOMMIT", "skip_autocommit_rollback": True}
        readers = create_engine(url, **{**_engine_arguments(url, options), **alone})
        _control(readers, url, options)
        return readers
    return engine


def _control(engine: Engine, url: URL, options: DatabaseOptions) -> None:
    if url.get_backend_name() == "sqlite":
        _control_sqlite(engine, url, options)
        return
    if url.get_backend_name() == "mysql":
        _set_sql_mode(engine, options.sql_mode)
    _ping_idle_connections(engine)


def _ping_idle_connections(engine: Engine) -> None:
    """Do not use a connection that broke while it was idle.

    PERF: a ping each time (`pool_pre_ping`) is a round trip, as much as a small query itself. A
    connection that was in use a moment ago is not pinged; if it broke in that moment, the
    transaction starts again.
    """

    @event.listens_for(engine, "checkout")
    def take(connection: Any, record: Any, _proxy: Any) -> None:
        now = time.monotonic()
        trusted_until = record.info.get(_TRUSTED_UNTIL, math.inf)
        record.info[_TRUSTED_UNTIL] = now + _TRUSTED_SECONDS
        if now < trusted_until:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            # The pool then opens another one.
            raise DisconnectionError from error


def _control_sqlite(engine: Engine, url: URL, options: DatabaseOptions) -> None:
    in_memory = url.database in _IN_MEMORY

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # else the driver decides when a transaction begins
        connection.execute(f"PRAGMA busy_timeout={options.busy_timeout_seconds * 1000}")
        if not in_memory:
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={'NORMAL' if options.synchronous else 'OFF'}")

    # SAFETY: a deferred transaction would read first and fail to become a writer later.
    event.listen(
        engine,
        "begin",
        lambda connection: connection.exec_driver_sql(
            connection.get_execution_options().get("trueup_begin", "BEGIN")
        ),
    )


def _set_sql_mode(engine: Engine, sql_mode: str) -> None:
    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        with connection.cursor() as cursor:
            # The class with the id 0 must keep it instead of being given a new one. SAFETY: what
            # GROUP_CONCAT joins is cut without an error where this is too small, as in MySQL 8.
            cursor.execute(
                "SET SESSION group_concat_max_len = 1073741824, SESSION sql_mode = "
                "CONCAT(IF(%s = '', @@SESSION.sql_mode, %s), ',NO_AUTO_VALUE_ON_ZERO'), "
                "SESSION group_concat_max_len = %s",
                (sql_mode, sql_mode, _LISTS_LENGTH_MAX),
            )
