# SPDX-License-Identifier: Apache-2.0
"""Whether the database answers."""

from pathlib import Path

from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import SQLAlchemyError as DatabaseError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from trueup.libraries import driver_missing
from trueup.placement.store.engine.database import Database
from trueup.placement.store.engine.errors import DatabaseSilent, Meaning, meaning_of
from trueup.placement.store.engine.sessions import ASKED, DatabaseOptions
from trueup.silence import NOT_A_URL, with_address

__all__ = [
    "DatabaseError",
    "DatabaseSilent",
    "UrlUnusable",
    "answers",
    "is_away",
    "open_database",
    "open_existing",
    "reads_again",
    "reason",
]


class UrlUnusable(Exception):
    """The URL of a database is malformed, or its driver is not installed."""


def open_database(url: str, options: DatabaseOptions) -> Database:
    """The database at a URL; it need not answer yet. Raises UrlUnusable."""
    try:
        make_url(url)
    except (ArgumentError, ValueError) as error:
        # SAFETY: SQLAlchemy's words for a port that is no number show a part of the password.
        raise UrlUnusable(f"the URL of the database cannot be used: {NOT_A_URL}") from error
    try:
        database = Database(url, options)
    except ModuleNotFoundError as error:
        raise UrlUnusable(driver_missing(error)) from error
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        # SQLAlchemy raises ValueError for two drivers.
        raise UrlUnusable(f"the URL of the database cannot be used: {error}") from error
    named = database.engine.url
    # PostgreSQL has a default: the name of the account. A query may name a file of options.
    if named.get_backend_name() == "mysql" and not named.database and not named.query:
        raise UrlUnusable("the URL of the database cannot be used: it names only the server")
    return database


def open_existing(url: str, options: DatabaseOptions) -> Database:
    """The database at a URL, for reading: SQLite must not create its file. Raises UrlUnusable."""
    database = open_database(url, options)
    file = database.engine.url.database
    if database.is_sqlite and not database.is_in_memory and file and not Path(file).exists():
        raise UrlUnusable(f"{file} does not exist")
    return database


def reason(error: BaseException) -> str:
    """The message of the database itself, in one line, and the server that was asked."""
    original = getattr(error, "orig", None) or error
    said = str(original).strip().partition("\n")[0]
    url = getattr(original, ASKED, None)
    return with_address(said, url) if url else said


def is_away(error: BaseException) -> bool:
    """Whether a statement failed because the database did not answer, so a retry may succeed.

    A wrong password or a missing table is another failure.
    """
    return meaning_of(error) is Meaning.AWAY


def reads_again(error: BaseException) -> bool:
    """Whether the same read may succeed at once: the connection broke, or the snapshot is too old.

    A snapshot lacks the rows of a table that was rebuilt after it (OPTIMIZE TABLE).
    """
    is_lost = isinstance(error, DBAPIError) and error.connection_invalidated
    return is_lost or meaning_of(error) is Meaning.CONFLICT


def answers(database: Database) -> bool:
    """Whether the database answers now."""
    try:
        with database.reading() as tx:
            return bool(tx.scalar(text("SELECT 1")) == 1)
    except (DBAPIError, NoConnectionFree):
        return False
