# SPDX-License-Identifier: Apache-2.0
"""The revisions of the schema, with upstream's Alembic revision ids, and Trueup's own tables.

The revisions make the same tables as upstream's, so either service may upgrade a database and the
other continues from there. Trueup's own tables have the prefix `trueup_`; upstream ignores them.
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

_NEWEST = "head"
_VERSIONS = Path(__file__).parent / "versions"
_ALEMBIC_IN_USE = Lock()
"""Alembic keeps its state in globals of the process."""
_LOCK_ID = 0x7472756575
_LOCK_SECONDS_MAX = 600
# MySQL limits the name of a lock to 64 characters, which the name of a database may have already.
_LOCK_NAME = "CONCAT('trueup ', SHA2(DATABASE(), 224))"
_GET_LOCK = text(f"SELECT GET_LOCK({_LOCK_NAME}, :seconds)")
_RELEASE_LOCK = text(f"SELECT RELEASE_LOCK({_LOCK_NAME})")
_LOCK_WAIT_TIMEOUT = 1205


class UnknownRevision(Exception):
    """A revision that is not Placement's, or a database at such a revision."""


def upgrade(database: Database) -> None:
    """Upgrade the tables to the newest revision, and add Trueup's own.

    Of several processes that try at once, one does it and the others find it done. An upgrade that
    was killed is continued. Raises RowsInTheWay if rows prevent a revision; the database is then at
    the revision before it. Raises UnknownRevision.
    """
    refuse_unknown_revision(database)
    with _locked(database) as connection:
        _run(connection, "upgrade", _NEWEST)
        connection.commit()
    attach(database)


def attach(database: Database) -> None:
    """Add Trueup's own tables where they are missing. Upstream's tables are not changed."""
    # PERF: once they exist, a start only reads the names of the tables, without a lock.
    if set(OWN.tables) <= set(inspect(database.engine).get_table_names()):
        database.forget_unused_writers(changes.forget_unused)
        return
    database.add_own_tables()


def revision(database: Database) -> str | None:
    """The revision in the database; None if it has none."""
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
            # The tables have no stamp.
            return
        raise
    known = {file.name.partition("_")[0] for file in _VERSIONS.glob("*_*.py")}
    for unknown in set(found) - known:
        raise UnknownRevision(
            f"The tables of the database are at revision {unknown}, which this release does not "
            "know: they are of a later release. Install that release."
        )


def stamp(database: Database, version: str) -> None:
    """Write this revision into the database. Nothing else is changed."""
    with _changing(database).connect() as connection:
        _run(connection, "stamp", version)
        connection.commit()


def detach(database: Database) -> list[str]:
    """Drop Trueup's own tables, and return their names. Upstream's tables are not changed."""
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
    # PERF: a worker whose tables exist starts without Alembic, a sixth of all imports.
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config(attributes={"connection": connection})
    # Alembic interpolates `%` in options.
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

    For SQLite, the lock of a write transaction is enough. Raises the error of the database if this
    takes too long.
    """
    if connection.dialect.name == "postgresql":
        # For this transaction only: a pooler may share the session.
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS_MAX}s'")
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK_ID})"))
        return
    if connection.dialect.name == "mysql":
        # A session of its own: it waits longer for locks than requests do.
        connection.detach()
        connection.exec_driver_sql(f"SET SESSION lock_wait_timeout = {_LOCK_SECONDS_MAX}")
        if connection.scalar(_GET_LOCK, {"seconds": _LOCK_SECONDS_MAX}) != 1:
            # MySQL returns 0 at the timeout; PostgreSQL raises.
            said = f"Another process has been changing the tables for {_LOCK_SECONDS_MAX} s"
            gave_up = connection.dialect.loaded_dbapi.OperationalError(_LOCK_WAIT_TIMEOUT, said)
            raise OperationalError(str(_GET_LOCK), None, gave_up)
    # Alembic begins transactions itself; GET_LOCK outlives them.
    connection.commit()


def _unlock(connection: Connection) -> None:
    connection.rollback()
    if connection.dialect.name == "mysql":
        connection.execute(_RELEASE_LOCK)
        connection.commit()
