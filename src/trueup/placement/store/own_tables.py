# SPDX-License-Identifier: Apache-2.0
"""The tables that Trueup adds to upstream's schema, and the error for a missing one."""

from secrets import randbits
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    MetaData,
    String,
    Table,
    event,
    insert,
)
from sqlalchemy.exc import DBAPIError

PREFIX = "trueup_"
OWN = MetaData()
"""The metadata of these tables. The name of each begins with the prefix."""

RECENT_LENGTH_MAX = 1400

changes = Table(
    f"{PREFIX}changes",
    OWN,
    Column("writer", BigInteger, primary_key=True, autoincrement=False),
    Column("first", BigInteger, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("reaches", BigInteger, nullable=False),
    Column("shaped", BigInteger, nullable=False),
    Column("recent", String(RECENT_LENGTH_MAX), nullable=False),
    Column("touched_at", BigInteger, nullable=False),
)
"""One row for each writer; `store.engine.changes` explains the columns."""

locks = Table(
    f"{PREFIX}locks",
    OWN,
    Column("name", String(32), primary_key=True),
    Column("number", BigInteger, nullable=False),
)
"""The lock rows; `store.engine.lock_rows` explains them."""

_NEVER_UNUSED = 2**62

_MYSQL_NO_SUCH_TABLE = 1146
_POSTGRESQL_UNDEFINED_TABLE = "42P01"


@event.listens_for(changes, "after_create")
def _begin(_table: Table, connection: Connection, **_options: Any) -> None:
    """Insert a writer that is unique to this table.

    A reader that knows an earlier table's writer misses it here, and reads the whole ledger.
    """
    number = randbits(44)
    numbers = dict.fromkeys(("first", "sequence", "reaches", "shaped"), number)
    row = {"writer": randbits(63), "recent": "", "touched_at": _NEVER_UNUSED, **numbers}
    connection.execute(insert(changes), row)
    if connection.dialect.name == "postgresql":
        # PERF: these rows change all the time; with free space in its page, PostgreSQL updates a
        # row in place. An option of Table would make SQLAlchemy load every driver for PostgreSQL,
        # which takes 30 ms of each start.
        connection.exec_driver_sql(f"ALTER TABLE {changes.name} SET (fillfactor = 25)")


def is_missing(error: BaseException) -> bool:
    """Whether a statement failed because one of these tables was dropped."""
    original = error.orig if isinstance(error, DBAPIError) else None
    if original is None or not any(name in str(original) for name in OWN.tables):
        return False
    first = original.args[0] if original.args else None
    return (
        getattr(original, "sqlstate", None) == _POSTGRESQL_UNDEFINED_TABLE
        or first == _MYSQL_NO_SUCH_TABLE
        or "no such table" in str(first)
    )


def add(engine: Engine) -> None:
    """Create the tables that are missing; other processes may do so at the same time."""
    for table in OWN.sorted_tables:
        try:
            table.create(engine, checkfirst=True)
        except DBAPIError:
            # Another process was first, or the user may not create tables: then this raises again.
            # SAFETY: for each table, since the other process may be first each time.
            table.create(engine, checkfirst=True)
