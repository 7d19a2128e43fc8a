# SPDX-License-Identifier: Apache-2.0
"""The settings of each session with the database server, and when a session is closed."""

import math
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import URL
from sqlalchemy.engine.interfaces import IsolationLevel
from sqlalchemy.exc import ArgumentError, DisconnectionError

from trueup.placement.store.engine.errors import (
    STANDBY,
    Meaning,
    SessionNotKept,
    meaning_of_original,
)
from trueup.placement.store.engine.statements import AUTOCOMMIT
from trueup.silence import bounded_connection

IN_MEMORY = frozenset({None, "", ":memory:"})
"""The names of SQLite databases that are not in a file."""

WRITES_FIRST = {"trueup_begin": "BEGIN IMMEDIATE"}
"""Options of a connection whose transactions write. They wait for SQLite's lock at their beginning;
a transaction that reads first and then finds the lock taken fails at once."""

TRUSTED_SECONDS = 1.0
"""How long a connection is used without a ping after it was last found to work."""

_TRUSTED_UNTIL = "trueup trusted until"

_LISTS_LENGTH_MAX = 2**30
_LOCK_WAIT_SECONDS_MAX = 600
WORK_SECONDS_MAX = 20
"""How long a server may work on one statement of a request before its answer begins, without the
wait for locks."""

PREPARE_THRESHOLD = "prepare_threshold"
"""A parameter of psycopg: a statement is prepared after that many executions."""
_IS_SHARED = "trueup session is shared"
_SERVER = "SELECT pg_backend_pid(), pg_is_in_recovery()"
_LEVEL: IsolationLevel = "READ COMMITTED"
_MARK = "@trueup_session"
"""A variable of MySQL's sessions: the ID of the session that its client knows."""

ASKED = "trueup_asked"
"""An attribute of the driver's errors: the URL of the server, which their texts often lack."""

_NEW_SESSION_NEEDED = frozenset({Meaning.AWAY, Meaning.READ_ONLY})
"""After these errors another session may succeed, perhaps with another server."""


@dataclass(frozen=True, slots=True)
class DatabaseOptions:
    """How connections are made and kept; None leaves the library's default.

    `parameters` are added to the query of the URL; an empty `sql_mode` leaves the server's.
    Without `lock_wait_seconds`, a statement waits for locks as long as the server permits.
    Without `takes_standby`, a standby of PostgreSQL is refused: its rows may be old.
    """

    parameters: str = ""
    pool_size: int | None = None
    overflow: int | None = None
    pool_timeout_seconds: int | None = None
    recycle_seconds: int = 3600
    connect_seconds: int = 5
    lock_wait_seconds: int | None = 10
    synchronous: bool = True
    sql_mode: str = "TRADITIONAL"
    takes_standby: bool = True

    @property
    def silence_seconds(self) -> int | None:
        """How long a server may be silent after it got a statement; None means no limit."""
        wait = self.lock_wait_seconds
        return wait + WORK_SECONDS_MAX if wait is not None else None


class Sharing:
    """Whether a proxy was seen that chooses the session of the database for each transaction."""

    def __init__(self) -> None:
        self.is_possible = False


def prepare_sessions(engine: Engine, url: URL, options: DatabaseOptions, sharing: Sharing) -> None:
    """Set up every session that this engine opens from now on."""
    if url.get_backend_name() == "sqlite":
        _prepare_sqlite(engine, url, options)
        return
    _bound_waiting(engine, options)
    if url.get_backend_name() == "mysql":
        _prepare_mysql(engine, options, sharing)
        _repeat_deletes(engine)
    else:
        _prepare_postgresql(engine, options, PREPARE_THRESHOLD in url.query)
    _ping_idle_connections(engine)
    _give_up_useless_sessions(engine)


def _ping_idle_connections(engine: Engine) -> None:
    """Replace a connection that broke while it was idle.

    PERF: a ping each time (`pool_pre_ping`) is a round trip, as much as a small query itself. A
    connection that was in use a moment ago is not pinged; if it broke since, the transaction
    starts again.
    """

    @event.listens_for(engine, "checkout")
    def take(connection: Any, record: Any, _proxy: Any) -> None:
        now = time.monotonic()
        trusted_until = record.info.get(_TRUSTED_UNTIL, math.inf)
        record.info[_TRUSTED_UNTIL] = now + TRUSTED_SECONDS
        if now < trusted_until:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            # The pool then opens another one.
            raise DisconnectionError from error


def _give_up_useless_sessions(engine: Engine) -> None:
    """Close sessions with a server that is read-only or leaving, so that the next finds another.

    A session with PostgreSQL may be read-only as long as it lasts. The address of a cluster may
    by now belong to another server.

    SAFETY: a session is also closed if its COMMIT or ROLLBACK failed (KILL QUERY can stop either):
    its transaction may still be open, and the next request would commit it too.
    """

    @event.listens_for(engine, "handle_error")
    def close_useless(context: Any) -> None:
        if context.original_exception is None:
            return
        setattr(context.original_exception, ASKED, engine.url)
        if context.connection is None:
            return
        meaning = meaning_of_original(context.original_exception)
        if context.is_disconnect or meaning in _NEW_SESSION_NEEDED:
            context.is_disconnect = True
        elif _failed_to_end(context) and meaning is not Meaning.CONFLICT:
            # In a conflict the server has ended the transaction.
            context.is_disconnect = True
            # The other sessions are not affected.
            context.invalidate_pool_on_disconnect = False


def _failed_to_end(context: Any) -> bool:
    """Whether the COMMIT or ROLLBACK of the driver failed, not a statement or its result."""
    is_of_statement = context.statement is not None or context.execution_context is not None
    return context.sqlalchemy_exception is not None and not is_of_statement


def _bound_waiting(engine: Engine, options: DatabaseOptions) -> None:
    """Give up a server that accepts a connection, or a statement, and then is silent.

    So does a frozen server, or one whose disk does not answer. Its host answers, so no timeout of
    TCP ends the wait.
    """
    silence = options.silence_seconds
    # mysqlclient refuses None.
    bounds = {} if silence is None else {"read_timeout": silence, "write_timeout": silence}

    def opened(dialect: Any, arguments: Any, parameters: dict[str, Any]) -> Any:
        if dialect.driver == "psycopg":
            kind = bounded_connection(dialect.loaded_dbapi, options.silence_seconds)
            return kind.connect(*arguments, **parameters)
        if dialect.driver != "pymysql" or "read_timeout" in parameters:
            return dialect.connect(*arguments, **{**bounds, **parameters})
        # The driver's connect_timeout ends when the server accepts.
        shorter = {**bounds, "read_timeout": options.connect_seconds}
        connection = dialect.connect(*arguments, **{**shorter, **parameters})
        connection._read_timeout = options.silence_seconds
        return connection

    @event.listens_for(engine, "do_connect")
    def connect(dialect: Any, _record: Any, arguments: Any, parameters: dict[str, Any]) -> Any:
        parameters.setdefault("connect_timeout", options.connect_seconds)
        try:
            return opened(dialect, arguments, parameters)
        except dialect.loaded_dbapi.Error:
            raise
        except Exception as error:
            # A parameter that the driver does not know, a certificate that is not there.
            raise ArgumentError(f"the parameters of the URL cannot be used: {error}") from error


def _prepare_sqlite(engine: Engine, url: URL, options: DatabaseOptions) -> None:
    in_memory = url.database in IN_MEMORY
    wait_seconds = options.lock_wait_seconds or _LOCK_WAIT_SECONDS_MAX

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # else the driver decides when a transaction begins
        connection.execute(f"PRAGMA busy_timeout={wait_seconds * 1000}")
        if not in_memory:
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={'NORMAL' if options.synchronous else 'OFF'}")

    # See WRITES_FIRST.
    event.listen(
        engine,
        "begin",
        lambda connection: connection.exec_driver_sql(
            connection.get_execution_options().get("trueup_begin", "BEGIN")
        ),
    )


def _prepare_postgresql(engine: Engine, options: DatabaseOptions, knows_sessions: bool) -> None:
    """Limit the wait for locks: in each session, or in each transaction where sessions are shared.

    SAFETY: in a shared session, clients would get each other's prepared statements and settings.
    psycopg prepares statements by itself. `knows_sessions`: the URL says when to prepare them.
    """
    waits = options.lock_wait_seconds
    bound = f"lock_timeout = '{waits}s'" if waits is not None else None

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: Any) -> None:
        # Within a transaction, a rollback would undo the setting.
        connection.autocommit = True
        process_id, is_standby = connection.execute(_SERVER).fetchone()
        if is_standby and not options.takes_standby:
            connection.close()
            raise engine.dialect.loaded_dbapi.OperationalError(STANDBY)
        # A pooler such as PgBouncer tells each client a process ID of its own.
        if process_id != connection.info.backend_pid:
            record.info[_IS_SHARED] = True
            if not knows_sessions:
                connection.prepare_threshold = None
        elif bound:
            connection.execute(f"SET {bound}")
        connection.autocommit = False

    @event.listens_for(engine, "begin")
    def begin(tx: Connection) -> None:
        is_block = AUTOCOMMIT not in tx.get_execution_options()
        if bound and is_block and _IS_SHARED in tx.connection.info:
            tx.exec_driver_sql(f"SET LOCAL {bound}")


def _prepare_mysql(engine: Engine, options: DatabaseOptions, sharing: Sharing) -> None:
    waits = options.lock_wait_seconds
    bounds = (
        f"SESSION innodb_lock_wait_timeout = {waits}, SESSION lock_wait_timeout = {waits}, "
        if waits is not None
        else ""
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: Any) -> None:
        with connection.cursor() as cursor:
            # The class with the id 0 must keep that id. SAFETY: where group_concat_max_len is too
            # small, as in MySQL 8, GROUP_CONCAT truncates its result without an error.
            cursor.execute(
                f"SET {bounds}SESSION sql_mode = "
                "CONCAT(IF(%s = '', @@SESSION.sql_mode, %s), ',NO_AUTO_VALUE_ON_ZERO'), "
                f"SESSION group_concat_max_len = %s, {_MARK} = %s",
                (options.sql_mode, options.sql_mode, _LISTS_LENGTH_MAX, connection.thread_id()),
            )
            # ProxySQL answers a bare CONNECTION_ID() itself.
            cursor.execute("SELECT CONNECTION_ID() + 0")
            if cursor.fetchone()[0] != connection.thread_id():
                record.info[_IS_SHARED] = sharing.is_possible = True
                # SQLAlchemy has set it, and read it, before the mark, perhaps in other sessions.
                cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {_LEVEL}")
                engine.dialect.default_isolation_level = _LEVEL

    @event.listens_for(engine, "begin")
    def begin(tx: Connection) -> None:
        if _IS_SHARED in tx.connection.info:
            tx.exec_driver_sql("START TRANSACTION")
            _require_own_session(tx)


def _require_own_session(tx: Connection) -> None:
    """Raise SessionNotKept unless this transaction is in a session that has our settings.

    SAFETY: at another isolation level than ours, claims would read usage from before their lock.
    """
    mark = tx.exec_driver_sql(f"SELECT {_MARK}").scalar()
    level = tx.get_execution_options().get("isolation_level", _LEVEL)
    connection: Any = tx.connection.dbapi_connection
    if mark != connection.thread_id() or tx.dialect.get_isolation_level(connection) != level:
        tx.invalidate()
        raise SessionNotKept


def _repeat_deletes(engine: Engine) -> None:
    """Send a DELETE that found no rows once more.

    SAFETY: MariaDB answers a DELETE that is stopped at its beginning (KILL QUERY,
    max_statement_time) as if there were no such rows, and not with an error. Allocations would stay
    without their consumer.
    """

    @event.listens_for(engine, "after_cursor_execute")
    def look(tx: Any, cursor: Any, sql: str, given: Any, _context: Any, is_many: bool) -> None:
        if cursor.rowcount == 0 and not is_many and sql.startswith("DELETE"):
            tx.dialect.do_execute(cursor, sql, given)
