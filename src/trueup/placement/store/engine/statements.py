# SPDX-License-Identifier: Apache-2.0
"""Statements whose text never changes: SQLAlchemy writes it once, and the driver gets it each time.

PERF: SQLAlchemy takes 60 to 85 microseconds of processor time to execute a statement that it has
compiled before, and PyMySQL 40 to send it. Claims and reads of single objects send such statements.
`Connection.execute` is for all others: rare ones, those built for one request, and those with
columns that SQLAlchemy has to convert, such as times.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import methodcaller
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import (
    BindParameter,
    Column,
    Connection,
    Dialect,
    Executable,
    Float,
    PoolProxiedConnection,
    Table,
    bindparam,
    insert,
)

Row = tuple[Any, ...]
"""The values of one row, in the order of the columns."""
Values = Mapping[str, Any]
"""The values of the parameters of a statement, by their names."""

AUTOCOMMIT = "trueup_autocommit"
"""The execution option of an engine whose statements are transactions of their own."""

_NO_VALUES: Values = {}
_FILLED_LENGTH_MAX = 1024
_ROWS_MAX = 64
_SENT_APART_MAX = 2**16 - 1
"""PostgreSQL's protocol counts the values that are sent beside a statement with 16 bits."""
_PSYCOPG = "psycopg"
_CURSOR_OF: Callable[[PoolProxiedConnection], Any] = methodcaller("cursor")


class Sent(NamedTuple):
    """The answer of a database."""

    rows: Sequence[Row]
    """All rows of the result, if the statement has one."""
    row_count: int
    """The number of rows that an UPDATE or DELETE found."""


_NOTHING_FOUND = Sent((), 0)


class FixedStatement:
    """A statement whose parameters are single values. Its text is the same each time."""

    __slots__ = ("_statement", "_texts")

    def __init__(self, statement: Executable):
        self._statement = statement
        # Each engine has a dialect of its own: that of MySQL differs from that of MariaDB.
        self._texts: WeakKeyDictionary[Dialect, _Text] = WeakKeyDictionary()

    def send(self, tx: Connection, values: Values = _NO_VALUES) -> Sent:
        """Execute it with these values. Raises as `Connection.execute` does."""
        dialect = tx.dialect
        text = self._texts.get(dialect)
        if text is None:
            text = self._texts[dialect] = _Text(self._statement, dialect)
        given = text.given(values)
        if not tx.in_transaction() and AUTOCOMMIT not in tx.get_execution_options():
            # SAFETY: a driver begins a transaction by itself, which nothing would end.
            tx.begin()
        cursor, told = None, tx.engine.dispatch
        try:
            cursor = text.cursor_of(tx.connection)
            # Metrics and traces listen to SQLAlchemy's events.
            for listen in told.before_cursor_execute:
                listen(tx, cursor, text.sql, given, None, False)
            dialect.do_execute(cursor, text.sql, given)
            for listen in told.after_cursor_execute:
                listen(tx, cursor, text.sql, given, None, False)
            sent = Sent(cursor.fetchall() if cursor.description else (), cursor.rowcount)
        except BaseException as error:
            # This raises SQLAlchemy's own error, and invalidates a lost connection. SQLAlchemy has
            # no public name for it. Without the text, it wraps only errors of the driver.
            is_of_driver = isinstance(error, dialect.loaded_dbapi.Error)
            sql = text.sql if is_of_driver else None
            tx._handle_dbapi_exception(error, sql, given, cursor, None)
        cursor.close()
        return sent


class ListStatement:
    """A statement with one list among its values, such as `column IN (list)`.

    `make` gets the placeholders of the list. For an empty list nothing is sent, and no row found.
    """

    def __init__(self, name: str, make: Callable[[Any], Executable]):
        self._name, self._make = name, make
        self._of_length = lru_cache(maxsize=16)(self._new)

    def send(self, tx: Connection, values: Values) -> Sent:
        """Execute it with these values, the list among them. Raises as `FixedStatement`."""
        others = dict(values)
        listed = others.pop(self._name)
        if not listed:
            return _NOTHING_FOUND
        if len(listed) + len(others) > _SENT_APART_MAX and tx.dialect.driver == _PSYCOPG:
            return self._new(len(listed)).send(tx, filled(self._name, listed) | others)
        if len(listed) > _FILLED_LENGTH_MAX:
            # Nearly each of these lists would need a text of its own.
            any_length = self._make(bindparam(self._name, expanding=True))
            result = tx.execute(any_length, values)
            rows = [tuple(row) for row in result] if result.returns_rows else ()
            return Sent(rows, result.rowcount)
        given = filled(self._name, listed)
        return self._of_length(len(given)).send(tx, given | others)

    def _new(self, length: int) -> FixedStatement:
        return FixedStatement(self._make(places(self._name, length)))


class RowsStatement:
    """A statement with the values of several rows, such as the INSERT of them.

    `make` gets the number of rows. The value of a row is at `place(column, number of row)`.

    PERF: one statement for each row takes psycopg twice the processor time, and PyMySQL a third
    more.
    """

    def __init__(self, make: Callable[[int], Executable]):
        self._make = make
        self._of_count = lru_cache(maxsize=_ROWS_MAX)(self._new)

    def send(self, tx: Connection, rows: Sequence[Values]) -> None:
        """Execute it with these rows, in batches. Raises as `FixedStatement`."""
        for first in range(0, len(rows), _ROWS_MAX):
            part = rows[first : first + _ROWS_MAX]
            values = {
                f"{name}_{number}": value
                for number, row in enumerate(part)
                for name, value in row.items()
            }
            self._of_count(len(part)).send(tx, values)

    def _new(self, count: int) -> FixedStatement:
        return FixedStatement(self._make(count))


def inserting(table: Table, *columns: str) -> RowsStatement:
    """The INSERT of rows with these columns; times are added."""
    return RowsStatement(
        lambda count: insert(table).values(
            [{name: place(table.c[name], number) for name in columns} for number in range(count)]
        )
    )


def place(column: Column[Any], number: int) -> BindParameter[Any]:
    """The placeholder of a column in a statement with several rows."""
    return bindparam(f"{column.name}_{number}", type_=column.type)


def places(name: str, count: int) -> list[BindParameter[Any]]:
    """The placeholders of a list in a statement, for the values of `filled`."""
    return [bindparam(f"{name}{number}") for number in range(count)]


def filled(name: str, values: Sequence[Any]) -> dict[str, Any]:
    """The values for the placeholders of a list.

    To keep statements few, there are 1, 2, 4, 8 and so on placeholders, filled up with the last
    value of the list. An empty list has one placeholder with NULL, which equals nothing; do not use
    it with NOT IN.
    """
    length = len(values)
    # A long list gets no more placeholders than it needs: servers limit them.
    count = length if length > _FILLED_LENGTH_MAX else 1 << max(length - 1, 0).bit_length()
    last = values[-1] if values else None
    return {f"{name}{n}": values[n] if n < length else last for n in range(count)}


class _Text:
    """A statement in the SQL of one dialect, and how its parameters are made.

    Raises TypeError if SQLAlchemy has to convert a column of the result.
    """

    __slots__ = ("_computed", "_constants", "_converted", "_order", "cursor_of", "sql")

    cursor_of: Callable[[PoolProxiedConnection], Any]
    """Makes the cursor that executes it."""

    def __init__(self, statement: Any, dialect: Dialect):
        for column in getattr(statement, "selected_columns", ()):
            # Drivers convert floating-point numbers themselves. SQLAlchemy 2.0 decides by the
            # driver's name for the type, which only a result has.
            if isinstance(column.type, Float):
                continue
            kind = column.type.dialect_impl(dialect)
            if kind.result_processor(dialect, None) is not None:
                raise TypeError(f"SQLAlchemy has to convert the values of {column}.")
        self.cursor_of = _CURSOR_OF
        compiled = statement.compile(dialect=dialect)
        if dialect.driver == _PSYCOPG:
            if len(compiled.params) <= _SENT_APART_MAX:
                dialect, self.cursor_of = _of_psycopg(dialect)
                compiled = statement.compile(dialect=dialect)
            else:
                self.cursor_of = _writing_values(dialect)
        # With the constants that SQLAlchemy otherwise writes into the text each time.
        expanded = compiled.construct_expanded_state(compiled.params)
        defaults = {
            column.key: column.default if compiled.isinsert else column.onupdate
            for column in (*compiled.insert_prefetch, *compiled.update_prefetch)
        }
        self.sql: str = expanded.statement
        self._order = expanded.positiontup
        self._converted = tuple(expanded.processors.items())
        self._computed = tuple(
            (name, default.arg) for name, default in defaults.items() if default.is_callable
        )
        self._constants = {
            name: default.arg for name, default in defaults.items() if not default.is_callable
        }
        for name, value in expanded.parameters.items():
            if value is not None:
                self._constants[name] = value

    def given(self, values: Values) -> Any:
        """The parameters as the driver takes them."""
        made = {**self._constants, **values}
        for name, compute in self._computed:
            made[name] = compute(None)
        for name, convert in self._converted:
            made[name] = convert(made[name])
        return made if self._order is None else tuple([made[name] for name in self._order])


def _of_psycopg(
    dialect: Dialect,
) -> tuple[Dialect, Callable[[PoolProxiedConnection], Any]]:
    """The dialect and the cursor for PostgreSQL's own placeholders, such as `$1`.

    PERF: psycopg translates named placeholders, each time if a statement is long or has more than
    50 of them. 64 of them then take four times the processor time.
    """
    raw_cursor = dialect.loaded_dbapi.RawCursor
    # SQLAlchemy's type of a dialect does not declare its constructor.
    make: Any = type(dialect)
    return make(paramstyle="numeric_dollar"), lambda pooled: raw_cursor(pooled.dbapi_connection)


def _writing_values(dialect: Dialect) -> Callable[[PoolProxiedConnection], Any]:
    """The cursor of psycopg that writes the values into the statement, as PyMySQL does."""
    client_cursor = dialect.loaded_dbapi.ClientCursor
    return lambda pooled: client_cursor(pooled.dbapi_connection)
