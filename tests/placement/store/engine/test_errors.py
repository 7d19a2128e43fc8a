# SPDX-License-Identifier: Apache-2.0
"""The meaning of single errors. tests/deployment/test_database_errors.py raises them on servers."""

import sqlite3

import psycopg
import pymysql
import pytest
from sqlalchemy.exc import DataError, IntegrityError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from trueup.placement.store.engine.errors import (
    Meaning,
    TooManyWaiting,
    lacks_character,
    meaning_of,
)


def mysql(number: int) -> OperationalError:
    # Since 1.2 the driver gives a state to each error, and states of PostgreSQL look alike.
    original = pymysql.err.OperationalError(number, "words")
    original.sqlstate = "08S01"
    return OperationalError("SELECT 1", {}, original)


def sqlite(code: int) -> OperationalError:
    original = sqlite3.OperationalError("words")
    original.sqlite_errorcode = code
    return OperationalError("SELECT 1", {}, original)


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (mysql(1213), Meaning.CONFLICT),
        (mysql(1412), Meaning.CONFLICT),
        (mysql(1205), Meaning.LOCKED),
        (mysql(1226), Meaning.AWAY),
        (mysql(1290), Meaning.READ_ONLY),
        (mysql(1021), Meaning.EXHAUSTED),
        (mysql(3024), Meaning.STOPPED),
        (mysql(1054), None),
        (OperationalError("", {}, psycopg.errors.SerializationFailure()), Meaning.CONFLICT),
        (OperationalError("", {}, psycopg.errors.LockNotAvailable()), Meaning.LOCKED),
        (OperationalError("", {}, psycopg.errors.ConnectionException()), Meaning.AWAY),
        (OperationalError("", {}, psycopg.errors.OutOfMemory()), Meaning.EXHAUSTED),
        (ProgrammingError("", {}, psycopg.errors.UndefinedColumn()), None),
        (sqlite(sqlite3.SQLITE_BUSY_RECOVERY), Meaning.LOCKED),
        (sqlite(sqlite3.SQLITE_IOERR_WRITE), Meaning.AWAY),
        (sqlite(sqlite3.SQLITE_ERROR), None),
        (IntegrityError("", {}, pymysql.err.IntegrityError(1062, "words")), None),
        (NoConnectionFree(), Meaning.AWAY),
        (TooManyWaiting(), Meaning.LOCKED),
        (ValueError(1205), None),
    ],
)
def test_the_meaning_of_an_error(error: Exception, meaning: Meaning | None) -> None:
    assert meaning_of(error) is meaning


@pytest.mark.parametrize(
    ("error", "lacking"),
    [
        (mysql(1267), True),
        (mysql(1270), True),
        (mysql(1271), True),
        (mysql(1366), True),
        (mysql(1205), False),
        (DataError("", {}, psycopg.DataError("text fields cannot contain NUL")), True),
        (DataError("", {}, psycopg.errors.UntranslatableCharacter("words")), True),
        (DataError("", {}, psycopg.errors.NumericValueOutOfRange("words")), False),
        (sqlite(1), False),
        (ValueError(1267), False),
    ],
)
def test_a_character_that_the_tables_cannot_hold(error: Exception, lacking: bool) -> None:
    assert lacks_character(error) is lacking
