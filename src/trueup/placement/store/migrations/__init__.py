# SPDX-License-Identifier: Apache-2.0
"""The schema through the years, by upstream's Alembic revision ids; and tables of our own.

The revisions give the tables that upstream's give, so either of the two may upgrade a database
and the other continues from there. What we add has names with the prefix `trueup_`, and upstream
never looks at it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from sqlalchemy import Connection, Engine, MetaData, inspect, select, text
from sqlalchemy.exc import DBAPIError, OperationalError

from trueup.placement.store.engine import changes
from trueup.placement.store.engine.database import Database
from trueup.placement.store.engine.errors import meaning_of
from trueup.placement.store.engine.sessions import WRITES_FIRST
from trueup.placement.store.migrations.blocking import RowsInTheWay
from trueup.placement.store.own_tables import OWN, PREFIX
from trueup.placement.store.tables import alembic_version

__all__ = [
    "OWN",
    "RowsInTheWay",
    "UnknownRevision",
    "attach",
    "detach",
    "refuse_unknown_revision",
    "revision",
    "stamp",
    "upgrade",
]

_NEWEST = "head"
_VERSIONS = Path(__file__).parent / "versions"
_ALEMBIC_IN_USE = Lock()
"""Alembic keeps what it works on in globals of the process."""
_LOCK_ID = 0x7472756575
_LOCK_SECONDS_MAX = 600
# The name of a database may have 64 characters, and MySQL takes that many for the name of a lock.
_LOCK_NAME = "CONCAT('trueup ', SHA2(DATABASE(), 224))"
_GET_LOCK = text(f"SELECT GET_LOCK({_LOCK_NAME}, :seconds)")
_RELEASE_LOCK = text(f"SELECT RELEASE_LOCK({_LOCK_NAME})")
_LOCK_WAIT_TIMEOUT = 1205


class UnknownRevision(Exception):
    """A revision that is none of Placement's, or a database that is at such a one."""


def upgrade(database: Database) -> None:
    """Bring the tables to the newest revision, and add those of our own.

    Of several processes that try at once, one does it and the others find it done. Raises
    RowsInTheWay if a revision cannot be reached with the rows that are there; the database is
    then at the revision before it.
    """
    with _locked(database) as connection:
        _run(connection, "upgrade", _NEWEST)
        connection.commit()
    attach(database)


def attach(database: Database) -> None:
    """Add those tables of our own that are missing. Upstream's are as they were."""
    # PERF: a look, without a lock, is all that a start costs once they are there.
    if set(OWN.tables) <= set(inspect(database.engine).get_table_names()):
        database.forget_unused_writers(changes.forget_unused)
        return
    database.add_own_tables()


def revision(database: Database) -> str | None:
    """The revision that the database says it is at; None if it does not say."""
    from alembic.runtime.migration import MigrationContext

    with database.engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def refuse_unknown_revision(database: Database) -> None:
    """Raise UnknownRevision if the tables are of a later release than this one."""
    # PERF: without Alembic, as in `_run`.
    try:
        with database.reading() as tx:
            found = tx.scalars(select(alembic_version.c.version_num)).all()
    except DBAPIError as error:
        if meaning_of(error) is None:
            # Whoever made the tables did not stamp them.
            return
        raise
    known = {file.name.partition("_")[0] for file in _VERSIONS.glob("*_*.py")}
    for unknown in set(found) - known:
        raise UnknownRevision(
            f"The tables of the database are at revision {unknown}, which this release does not "
            "know: they are of a later release. Install that release."
        )


def stamp(database: Database, version: str) -> None:
    """Let the database say that it is at this revision. Nothing else is changed."""
    with _changing(database).connect() as connection:
        _run(connection, "stamp", version)
        connection.commit()


def detach(database: Database) -> list[str]:
    """Drop the tables of our own, and say which. Upstream's are as they were."""
    with _changing(database).begin() as connection:
        names = sorted(n for n in inspect(connection).get_table_names() if n.startswith(PREFIX))
        found = MetaData()
        found.reflect(connection, only=names)
        ours = [table for table in found.sorted_tables if table.name in names]
        found.drop_all(connection, tables=ours)
    return names


def _changing(database: Database) -> Engine:
    return database.engine.execution_options(**WRITES_FIRST)


def _run(connection: Connection, verb: str, version: str) -> None:
    # PERF: a worker that finds its tables there, as nearly each does, starts without Alembic: a
    # sixth of what it would import.
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config(attributes={"connection": connection})
    # In an option, a per cent sign begins the name of another option.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    try:
        with _ALEMBIC_IN_USE:
            getattr(command, verb)(config, version)
    except CommandError as error:
        raise UnknownRevision(str(error)) from error


@contextmanager
def _locked(database: Database) -> Iterator[Connection]:
    with _changing(database).connect() as connection:
        _lock(connection)
        try:
            yield connection
        finally:
            _unlock(connection)


def _lock(connection: Connection) -> None:
    """Wait until no other process changes the schema.

    For SQLite its own lock is enough, which a transaction takes that writes first. Raises what the
    database says if that takes too long.
    """
    if connection.dialect.name == "postgresql":
        # For this transaction, which is the whole change: a pooler may share the session.
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS_MAX}s'")
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK_ID})"))
        return
    if connection.dialect.name == "mysql":
        # A session of its own, since it waits for locks longer than those of requests.
        connection.detach()
        connection.exec_driver_sql(f"SET SESSION lock_wait_timeout = {_LOCK_SECONDS_MAX}")
        if connection.scalar(_GET_LOCK, {"seconds": _LOCK_SECONDS_MAX}) != 1:
            # MySQL answers that it gave up; PostgreSQL raises.
            said = f"Another process has been changing the tables for {_LOCK_SECONDS_MAX} s"
            gave_up = connection.dialect.loaded_dbapi.OperationalError(_LOCK_WAIT_TIMEOUT, said)
            raise OperationalError(str(_GET_LOCK), None, gave_up)
    # Alembic begins transactions itself, and such a lock outlives them.
    connection.commit()


def _unlock(connection: Connection) -> None:
    connection.rollback()
    if connection.dialect.name == "mysql":
        connection.execute(_RELEASE_LOCK)
        connection.commit()
