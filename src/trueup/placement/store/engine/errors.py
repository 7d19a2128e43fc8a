# SPDX-License-Identifier: Apache-2.0
"""The meaning of database errors for the service: one table for each kind of server.

An error in no table is a fault of the service, or of the schema.
"""

from collections.abc import Iterable, Mapping
from enum import Enum

from sqlalchemy.exc import DataError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionFree


class Meaning(Enum):
    """Why a statement failed, if the same request may succeed later."""

    CONFLICT = "another transaction interfered"
    LOCKED = "another session holds a lock for longer than we wait"
    AWAY = "the server cannot be reached, or accepts no session or statement now"
    READ_ONLY = "the server accepts no writes now"
    EXHAUSTED = "the server has no disk space or memory left"
    STOPPED = "a KILL, a cancellation or a time limit ended the statement"


class TooManyWaiting(Exception):
    """A write was not tried: too many writes of this process wait for the database."""

    def __str__(self) -> str:
        return str(self.__doc__)


class DatabaseSilent(Exception):
    """Another thread waits for the first answer of the database, so it was not asked again."""

    def __str__(self) -> str:
        return str(self.__doc__)


class SessionNotKept(Exception):
    """A proxy sent a transaction to a session of the database that has not our settings: let it
    keep one session for each connection of this account (docs/service/databases.md)."""

    def __str__(self) -> str:
        return " ".join(str(self.__doc__).split())


def _table(rows: Mapping[Meaning, Iterable[object]]) -> dict[object, Meaning]:
    return {code: meaning for meaning, codes in rows.items() for code in codes}


# Error numbers of MariaDB, MySQL and Galera; 2000 to 2999 are errors of the client.
_MYSQL = _table(
    {
        # row changed, deadlock (or a conflict with another node of Galera), table rebuilt after
        # the snapshot
        Meaning.CONFLICT: (1020, 1213, 1412),
        Meaning.LOCKED: (1205,),
        Meaning.AWAY: (
            *(1040, 1203, 1226),  # too many connections, or too many of this account
            *(1047, 1180),  # Galera without quorum: any statement, a commit
            *(1053, 1927),  # shutting down, session killed
            *(1152, 1158, 1159, 1160, 1161),  # aborted, network errors
            *(2002, 2003, 2005, 2006, 2012, 2013, 2055),  # not reached, lost
            4031,  # idle for too long
        ),
        # --read-only, a read-only transaction, --innodb-read-only
        Meaning.READ_ONLY: (1290, 1792, 1836),
        # error on write, disk full, table full; memory
        Meaning.EXHAUSTED: (3, 1021, 1026, 1114, 1037, 1038, 1041),
        # KILL QUERY, max_statement_time, MySQL's max_execution_time
        Meaning.STOPPED: (1317, 1969, 3024),
    }
)

# Error numbers of MariaDB and MySQL: for a comparison with one text, with one or more of a list,
# for storing, and for converting.
_CHARACTER_LACKING = frozenset({(1267,), (1270,), (1271,), (1366,), (3988,)})
# SQLSTATEs of PostgreSQL: its encoding, or that of the database, lacks the character.
_CHARACTER_LACKING_STATES = frozenset({"22021", "22P05"})
# psycopg sends no text with a NUL character.
_NUL_REFUSED = "cannot contain NUL"

# SQLSTATEs of PostgreSQL, or their classes (the first two characters).
_POSTGRESQL = _table(
    {
        # serialization failure, deadlock
        Meaning.CONFLICT: ("40001", "40P01"),
        Meaning.LOCKED: ("55P03",),
        Meaning.AWAY: (
            "08",  # connection errors
            "53300",  # too many connections
            *("57P01", "57P02", "57P03", "57P05"),  # shut down, crashed, starting, idle too long
            *("25P03", "25P04"),  # a transaction idle or open for too long
        ),
        Meaning.READ_ONLY: ("25006",),
        # disk full, memory, limits of the configuration; input and output
        Meaning.EXHAUSTED: ("53", "58030"),
        # cancelled, also by statement_timeout
        Meaning.STOPPED: ("57014",),
    }
)

# Primary result codes.
_SQLITE = _table(
    {
        Meaning.LOCKED: (5, 6),  # SQLITE_BUSY, SQLITE_LOCKED
        Meaning.AWAY: (10, 14),  # SQLITE_IOERR, SQLITE_CANTOPEN
        Meaning.READ_ONLY: (8,),  # SQLITE_READONLY
        Meaning.EXHAUSTED: (7, 13),  # SQLITE_NOMEM, SQLITE_FULL
        Meaning.STOPPED: (9,),  # SQLITE_INTERRUPT
    }
)
_SQLITE_PRIMARY = 0xFF

STANDBY = "the server is a standby, which has not taken over"
"""The text of the error for a connection that is refused by us."""

# psycopg has no SQLSTATE for a connection that was never made; 3.2.2 gives no more than the number
# of getaddrinfo for a host that is not known.
_CONNECTION_FAILED = (
    STANDBY,
    "[Errno -",
    "connection failed",
    "connection is bad",
    "connection timeout expired",
    "failed to resolve host",
    "server closed the connection",
)
_WRONGLY_CONFIGURED = ("authentication failed", "does not exist", "no pg_hba.conf entry")


def meaning_of(error: BaseException) -> Meaning | None:
    """Why a statement or a connection failed; None if a retry would fail again."""
    if isinstance(error, TooManyWaiting):
        return Meaning.LOCKED
    if isinstance(error, NoConnectionFree | DatabaseSilent | SessionNotKept):
        return Meaning.AWAY
    if not isinstance(error, DBAPIError) or error.orig is None:
        return None
    found = meaning_of_original(error.orig)
    if found is None and error.connection_invalidated:
        return Meaning.AWAY
    if found is None and isinstance(error, OperationalError | InterfaceError):
        return Meaning.AWAY if _never_connected(str(error.orig)) else None
    return found


def lacks_character(error: BaseException) -> bool:
    """Whether a text has a character that the character set of the tables lacks.

    Upstream's tables on MySQL are utf8mb3, which lacks emoji; PostgreSQL stores no NUL.
    """
    original = error.orig if isinstance(error, DBAPIError) else None
    if original is None:
        return False
    return (
        original.args[:1] in _CHARACTER_LACKING
        or getattr(original, "sqlstate", None) in _CHARACTER_LACKING_STATES
        or (isinstance(error, DataError) and _NUL_REFUSED in str(original))
    )


def meaning_of_original(original: BaseException) -> Meaning | None:
    """The meaning of an error of a driver."""
    code = getattr(original, "sqlite_errorcode", None)
    if code is not None:
        return _SQLITE.get(code & _SQLITE_PRIMARY)
    first = original.args[0] if original.args else None
    if isinstance(first, int):
        return _MYSQL.get(first)
    state = getattr(original, "sqlstate", None) or ""
    return _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:2])


def _never_connected(words: str) -> bool:
    failed = any(sign in words for sign in _CONNECTION_FAILED)
    return failed and not any(sign in words for sign in _WRONGLY_CONFIGURED)
