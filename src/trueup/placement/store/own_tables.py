# SPDX-License-Identifier: Apache-2.0
"""The tables that we add to upstream's: which they are, and what a missing one looks like."""

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
"""The tables of our own. Each has a name with the prefix."""

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
"""One row for each writer; `store.changes` says what the columns mean."""

locks = Table(
    f"{PREFIX}locks",
    OWN,
    Column("name", String(32), primary_key=True),
    Column("number", BigInteger, nullable=False),
)
"""The lock rows; `store.lock_rows` says what they are for."""

_NEVER_UNUSED = 2**62

_MYSQL_NO_SUCH_TABLE = 1146
_POSTGRESQL_UNDEFINED_TABLE = "42P01"


@event.listens_for(changes, "after_create")
def _begin(_table: Table, connection: Connection, **_options: Any) -> None:
    """A row that only this table has: who knew another one knows that nothing can be followed."""
    number = randbits(44)
    numbers = dict.fromkeys(("first", "sequence", "reaches", "shaped"), number)
    row = {"writer": randbits(63), "recent": "", "touched_at": _NEVER_UNUSED, **numbers}
    connection.execute(insert(changes), row)
    if connection.dialect.name == "postgresql":
        # PERF: rows are written over and over; with room beside them it does so in place. As an
        # option of Table this would load all drivers for PostgreSQL, 30 ms of every start.
        connection.exec_driver_sql(f"ALTER TABLE {changes.name} SET (fillfactor = 25)")


def is_missing(error: BaseException) -> bool:
    """Whether a statement failed because somebody dropped a table of our own."""
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
    """Make those that are missing, while others may do the same."""
    try:
        OWN.create_all(engine)
    except DBAPIError:
        # Somebody else was faster, or nobody may: then this says so again.
        OWN.create_all(engine)
