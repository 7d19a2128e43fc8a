# SPDX-License-Identifier: Apache-2.0
"""Reads another service's database: one consistent state, read-only, within a time limit."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from functools import lru_cache
from itertools import chain, starmap
from operator import attrgetter
from types import GenericAlias
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import quote

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Select,
    TableClause,
    Text,
    create_engine,
    func,
    inspect,
    literal_column,
    select,
    text,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.event import listens_for
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DBAPIError,
    NoSuchModuleError,
    SQLAlchemyError,
)
from sqlalchemy.pool import NullPool

from trueup.libraries import driver_missing
from trueup.reconcile.sources.errors import Cause, DatabaseUnusable, Unreachable
from trueup.silence import NOT_A_URL, bounded_connection, with_address

# The words of servers and drivers for causes that an operator can remove.
_CAUSES = (
    (Cause.LOGIN, re.compile(r"\b(1044|1045|1698)\b|authentication failed|no pg_hba|role .* not")),
    (Cause.RIGHTS, re.compile(r"\b(1142|1143)\b|permission denied for")),
    (Cause.TLS, re.compile(r"\bSSL\b|\bTLS\b|certificate")),
)

# Seconds in which a server must accept a connection.
CONNECT_SECONDS = 10
# Seconds in which it must answer all queries: Nova's own limit for a cell.
ANSWER_SECONDS = 60
BATCH_ROWS = 5000
# Older builds of SQLite accept at most 999 parameters.
KEYS_IN_QUERY = 500

# How many different long texts are kept in memory at most.
_TEXTS_KEPT_MAX = 4096

Fetched = TypeVar("Fetched")


class Alike(Text):
    """The type of a column with long values, many of them equal: a batch transfers each once.

    PERF: each instance has a flavor of 700 bytes, and a cloud has about a hundred flavors.
    """


class Row(msgspec.Struct, array_like=True, gc=False):
    """A row, with its columns as attributes.

    PERF: a dictionary takes ten times as long to make, and the garbage collector visits it.
    """

    if TYPE_CHECKING:

        def __getattr__(self, column: str) -> Any: ...


@lru_cache(maxsize=256)
def row_type(columns: tuple[str, ...]) -> type[Row]:
    """The type of rows with these columns."""
    kind = msgspec.defstruct("Row", columns, bases=(Row,), array_like=True, gc=False)
    return cast("type[Row]", kind)


@lru_cache(maxsize=256)
def _unpacking(columns: tuple[str, ...]) -> "msgspec.json.Decoder[list[Row]]":
    return msgspec.json.Decoder(GenericAlias(list, (row_type(columns),)))


# The dialect and driver in a site's URL → the driver that Trueup's extras install.
_DRIVERS = {
    "mysql": "mysql+pymysql",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg2": "postgresql+psycopg",
}
# SAFETY: the statement that makes a session read-only, whatever its account may do.
_READ_ONLY = {
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "mariadb": "SET SESSION TRANSACTION READ ONLY",
    "postgresql": "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "sqlite": "PRAGMA query_only = ON",
}
# Dialects that pack a batch into one text, and its maximum length; their default is a megabyte.
_PACKING = frozenset({"mysql", "mariadb"})
_PACKED_BYTES_MAX = 1 << 26
# A server's own time in UTC: the time now, not when the transaction began.
_CLOCKS = {
    "mysql": "UTC_TIMESTAMP(6)",
    "mariadb": "UTC_TIMESTAMP(6)",
    "postgresql": "clock_timestamp() AT TIME ZONE 'UTC'",
    "sqlite": "strftime('%Y-%m-%d %H:%M:%f', 'now')",
}
# The weakest isolation level at which all queries of a transaction see the same state.
_ONE_STATE = {"mysql": "REPEATABLE READ", "postgresql": "REPEATABLE READ"}


class Database:
    """One database. `source` is its name in coverage and errors."""

    def __init__(self, source: str, url: str, seconds: float = ANSWER_SECONDS) -> None:
        """Raises DatabaseUnusable if `url` is not a database URL, or its driver is missing."""
        self.source = source
        self._seconds = seconds
        try:
            self._engine = _read_only_engine(_url(url, source), seconds)
            self.address = make_url(url).render_as_string(hide_password=True)
        except ModuleNotFoundError as error:
            raise DatabaseUnusable(source, driver_missing(error)) from error
        except (ImportError, NoSuchModuleError, ArgumentError, ValueError) as error:
            raise DatabaseUnusable(source, str(error)) from error

    def ask(self, fetch: Callable[["Session"], Fetched]) -> Fetched:
        """Return what `fetch` reads in one transaction. Raises Unreachable, also on a timeout."""
        deadline = time.monotonic() + self._seconds
        try:
            with self._engine.connect() as connection:
                return fetch(Session(connection, self.source, deadline, self._seconds))
        except SQLAlchemyError as error:
            reason = with_address(_first_line(error), self._engine.url)
            raise Unreachable(self.source, reason, _cause(reason)) from error

    def close(self) -> None:
        self._engine.dispose()


class Session:
    """One transaction, which sees one state. Methods raise Unreachable after the time limit."""

    def __init__(
        self, connection: Connection, source: str, deadline: float, seconds: float
    ) -> None:
        self._connection = connection
        self._source = source
        self._deadline = deadline
        self._seconds = seconds
        self._tables: frozenset[str] | None = None
        # Values of columns of type Alike, by their digest.
        self._texts: dict[str | None, str | None] = {None: None}

    def clock(self) -> datetime | None:
        """The server's own time as naive UTC; None for a server that cannot be asked."""
        clock = _CLOCKS.get(self._connection.dialect.name)
        if clock is None:
            return None
        told = self._connection.scalar(select(literal_column(clock)))
        return datetime.fromisoformat(told) if isinstance(told, str) else told

    def has_table(self, name: str) -> bool:
        if self._tables is None:
            self._tables = frozenset(inspect(self._connection).get_table_names())
        return name in self._tables

    def folds_case(self, column: ColumnElement[Any]) -> bool:
        """Whether the server treats names in this column as equal that differ only in case."""
        if self._connection.dialect.name not in _PACKING:
            return False
        named = text(
            "SELECT collation_name FROM information_schema.columns WHERE table_schema = DATABASE() "
            "AND table_name = :table AND column_name = :column"
        )
        of_table = cast("TableClause", getattr(column, "table", None))
        asked = {"table": of_table.name, "column": str(column.key)}
        return str(self._connection.scalar(named, asked)).lower().endswith("_ci")

    def columns(self, table: TableClause) -> frozenset[str]:
        """The columns of the table that this database has too; empty if there is no such table.

        SAFETY: the first query names the columns, so an account needs no right to others. If it
        fails, a second query asks for all columns, which fails too if the account may not read
        them. Otherwise a column without a right would look like a column of a later release.
        """
        if not self.has_table(table.name):
            return frozenset()
        nothing: ColumnElement[bool] = literal_column("1 = 0")
        try:
            # In PostgreSQL a failed query would end the transaction.
            with self._connection.begin_nested():
                self._connection.execute(select(*table.c).where(nothing))
        except DBAPIError as error:
            if error.connection_invalidated:
                raise
        else:
            return frozenset(table.c.keys())
        every: Select[Any] = select(literal_column("*")).select_from(table).where(nothing)
        return frozenset(self._connection.execute(every).keys()) & frozenset(table.c.keys())

    def rows(self, query: Select[Any]) -> list[Row]:
        """The rows of a query with a short result."""
        if time.monotonic() > self._deadline:
            raise Unreachable(self._source, f"it took longer than {self._seconds:g} s")
        result = self._connection.execute(query)
        return list(starmap(row_type(tuple(result.keys())), result))

    def batches(self, query: Select[Any], key: ColumnElement[Any]) -> Iterator[list[Row]]:
        """The rows of a query in batches, by increasing key, so that neither side holds all rows.

        The key is a column of the query. It is never NULL, and belongs to the only table in the
        query's conditions.
        """
        keys = select(key).where(*_conditions(query)).order_by(key).limit(BATCH_ROWS)
        last = self._last(keys)
        following = query
        while last is not None:
            yield self._batch(following.where(key <= last), key)
            following = query.where(key > last)
            last = self._last(keys.where(key > last))

    def every_row(self, query: Select[Any], key: ColumnElement[Any]) -> Iterator[Row]:
        """The rows of `batches`, one by one."""
        return chain.from_iterable(self.batches(query, key))

    def _last(self, keys: Select[Any]) -> Any:
        """The last of the batch's keys in the server's order; None if there are no rows."""
        found = keys.subquery("batch")
        [row] = self.rows(select(func.max(*found.c).label("last")))
        return row.last

    def _batch(self, query: Select[Any], key: ColumnElement[Any]) -> list[Row]:
        """The rows of one batch, sorted by key.

        PERF: MariaDB and MySQL pack the rows into one JSON text, which is parsed in C. Their
        driver is written in Python, and takes 24 microseconds for a row of 20 columns; this takes
        one (bench/collecting.py). The batch is bounded by keys: with LIMIT, the server would first
        write it into a temporary table on disk, because it has TEXT columns.
        """
        if self._connection.dialect.name not in _PACKING:
            return self.rows(query.order_by(key))
        columns = query.selected_columns
        packed = func.json_arrayagg(func.json_array(*map(_short, columns))).label("packed")
        unpacking = _unpacking(tuple(column.name for column in columns))
        try:
            [row] = self.rows(_with_only(query, packed))
            rows = unpacking.decode(row.packed or "")
        except (DatabaseError, ValueError):
            # No rows, too many for one text, or a server that cannot pack: query without packing.
            return self.rows(query.order_by(key))
        for column in columns:
            if isinstance(column.type, Alike):
                self._lengthen(rows, query, column, key)
        return sorted(rows, key=attrgetter(str(key.key)))

    def _lengthen(
        self,
        rows: list[Row],
        query: Select[Any],
        column: ColumnElement[Any],
        key: ColumnElement[Any],
    ) -> None:
        """Replace digests in a column by the values; each value is fetched once."""
        name, texts = str(column.key), self._texts
        digest, number = attrgetter(name), attrgetter(str(key.key))
        new = {digest(row): number(row) for row in rows if digest(row) not in texts}
        asked = _with_only(query, _short(column).label("digest"), column.label("text"))
        texts |= {row.digest: row.text for row in self.rows_of(asked, key, list(new.values()))}
        for row in rows:
            setattr(row, name, texts[digest(row)])
        if len(texts) > _TEXTS_KEPT_MAX:
            self._texts = {None: None}

    def rows_of(
        self, query: Select[Any], key: ColumnElement[Any], wanted: Sequence[Any]
    ) -> Iterator[Row]:
        """The rows of a query with one of these keys."""
        for start in range(0, len(wanted), KEYS_IN_QUERY):
            yield from self.rows(query.where(key.in_(wanted[start : start + KEYS_IN_QUERY])))


def _short(column: ColumnElement[Any]) -> ColumnElement[Any]:
    return func.sha2(column, 256) if isinstance(column.type, Alike) else column


def _with_only(query: Select[Any], *columns: ColumnElement[Any]) -> Select[Any]:
    """The same query with other columns."""
    return query.with_only_columns(*columns, maintain_column_froms=True)


def _conditions(query: Select[Any]) -> tuple[ColumnElement[bool], ...]:
    return () if query.whereclause is None else (query.whereclause,)


def _url(text: str, source: str) -> URL:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        # SQLAlchemy raises ValueError for a port that is no number.
        raise DatabaseUnusable(source, f"its connection cannot be used: {NOT_A_URL}") from error
    return url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))


def _read_only_engine(url: URL, seconds: float) -> Engine:
    """An engine whose transactions are read-only and see one state."""
    if url.get_backend_name() == "sqlite":
        # Opened by URI: with a plain path SQLite would create a missing file.
        path = quote(url.database or "")
        url = url.set(database=f"file:{path}", query={"mode": "rw", "uri": "true"})
    engine = create_engine(
        url,
        poolclass=NullPool,
        connect_args=_connect_arguments(url.get_driver_name(), seconds),
        isolation_level=_ONE_STATE.get(url.get_backend_name(), "SERIALIZABLE"),
    )
    if url.get_backend_name() == "sqlite":
        # The driver begins no transaction for a SELECT, so each would see a different state.
        listens_for(engine, "begin")(lambda connection: connection.exec_driver_sql("BEGIN"))
    if engine.dialect.driver == "psycopg":
        kind = bounded_connection(engine.dialect.loaded_dbapi, max(1, int(seconds)))
        listens_for(engine, "do_connect")(
            lambda _dialect, _record, words, named: kind.connect(*words, **named)
        )
    statement = _READ_ONLY[engine.dialect.name]

    @listens_for(engine, "connect")
    def forbid_writes(connection: Any, _record: Any) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.execute(statement)
            if engine.dialect.name in _PACKING:
                cursor.execute(f"SET SESSION group_concat_max_len = {_PACKED_BYTES_MAX}")
        # PostgreSQL reverts session settings if the transaction that made them is rolled back.
        connection.commit()

    return engine


def _connect_arguments(driver: str, seconds: float) -> dict[str, Any]:
    """Timeouts, so that a server that hangs, or a network that drops packets, cannot block us."""
    whole = max(1, int(seconds))
    connecting = min(CONNECT_SECONDS, whole)
    libpq = {
        "connect_timeout": connecting,
        "options": f"-c statement_timeout={whole * 1000}",
        "tcp_user_timeout": whole * 1000,
    }
    known: Mapping[str, dict[str, Any]] = {
        "pymysql": {"connect_timeout": connecting, "read_timeout": whole},
        "mysqldb": {"connect_timeout": connecting, "read_timeout": whole},
        "psycopg": libpq,
    }
    return known.get(driver, {})


def _cause(reason: str) -> Cause:
    return next((cause for cause, said in _CAUSES if said.search(reason)), Cause.UNKNOWN)


def _first_line(error: SQLAlchemyError) -> str:
    reason = error.orig if hasattr(error, "orig") and error.orig else error
    return str(reason).splitlines()[0] if str(reason) else type(error).__name__
