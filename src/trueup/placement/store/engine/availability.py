# SPDX-License-Identifier: Apache-2.0
"""Whether the database answers, and which errors mean that it does not, for each engine."""

from sqlalchemy import text
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    NoSuchModuleError,
    OperationalError,
)
from sqlalchemy.exc import SQLAlchemyError as DatabaseError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from trueup.placement.store.engine.database import Database, DatabaseOptions

__all__ = [
    "DatabaseError",
    "UrlUnusable",
    "answers",
    "is_away",
    "open_database",
    "reason",
    "was_lost",
]

# Too many connections, shutting down, killed; cannot connect, gone, lost; no quorum (Galera).
_MYSQL_AWAY = frozenset({1040, 1047, 1053, 1152, 1158, 1159, 1160, 1161, 1203, 1226, 1927})
_MYSQL_AWAY_CLIENT = frozenset({2002, 2003, 2005, 2006, 2012, 2013, 2055, 4031})
# Connection errors, too many of them, shut down, crashed, starting.
_POSTGRESQL_AWAY = ("08", "53300", "57P01", "57P02", "57P03")
# psycopg has no state for a connection that never came to be, and SQLite never has any.
_CONNECTION_FAILED = (
    "connection failed",
    "connection is bad",
    "connection timeout expired",
    "failed to resolve host",
    "server closed the connection",
    "unable to open database file",
)
_WRONGLY_CONFIGURED = ("authentication failed", "does not exist", "no pg_hba.conf entry")


class UrlUnusable(Exception):
    """The URL of a database is malformed, or its driver is not installed."""


def open_database(url: str, options: DatabaseOptions) -> Database:
    """The database at a URL; it need not answer yet. Raises UrlUnusable."""
    try:
        return Database(url, options)
    except ModuleNotFoundError as error:
        raise UrlUnusable(
            f"the driver '{error.name}' is not installed: pip install 'trueup[all]'"
        ) from error
    except (ArgumentError, NoSuchModuleError) as error:
        raise UrlUnusable(f"the URL of the database cannot be used: {error}") from error


def reason(error: BaseException) -> str:
    """What the database itself said, in one line."""
    original = getattr(error, "orig", None) or error
    return str(original).strip().partition("\n")[0]


def is_away(error: BaseException) -> bool:
    """Whether a statement failed because the database did not answer.

    Then the same request may succeed later; not so after a wrong password or a missing table.
    """
    if isinstance(error, NoConnectionFree) or was_lost(error):
        return True
    return isinstance(error, OperationalError | InterfaceError) and _says_so(error)


def was_lost(error: BaseException) -> bool:
    """Whether an open connection broke. A new one may succeed at once."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def answers(database: Database) -> bool:
    """Whether the database answers now."""
    try:
        with database.reading() as tx:
            return bool(tx.scalar(text("SELECT 1")) == 1)
    except (DBAPIError, NoConnectionFree):
        return False


def _says_so(error: DBAPIError) -> bool:
    original = error.orig
    state = getattr(original, "sqlstate", None)
    if isinstance(state, str):
        return state.startswith(_POSTGRESQL_AWAY)
    first = original.args[0] if original is not None and original.args else None
    if isinstance(first, int):
        return first in _MYSQL_AWAY or first in _MYSQL_AWAY_CLIENT
    return _never_connected(str(first))


def _never_connected(words: str) -> bool:
    failed = any(sign in words for sign in _CONNECTION_FAILED)
    return failed and not any(sign in words for sign in _WRONGLY_CONFIGURED)
