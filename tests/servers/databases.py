# SPDX-License-Identifier: Apache-2.0
"""A database server for tests: a URL on which empty databases are created and dropped."""

import contextlib
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import sqlalchemy
from sqlalchemy.engine import URL, make_url
from sqlalchemy.pool import NullPool

# Upstream's documents create the database in this character set; the column lengths that fit
# into an index follow from it.
MARIADB_CREATE = "CREATE DATABASE `{name}` CHARACTER SET utf8mb3"
POSTGRESQL_CREATE = "CREATE DATABASE \"{name}\" ENCODING 'UTF8' TEMPLATE template0"


@dataclass(frozen=True, slots=True)
class DatabaseServer:
    """A running MariaDB or PostgreSQL, and an account that may do everything there."""

    url: URL
    # A private server's files go when it stops, so nothing has to be dropped before.
    private: bool = False

    @property
    def is_postgresql(self) -> bool:
        return self.url.get_backend_name() == "postgresql"

    def create_database(self, prefix: str = "trueup") -> str:
        """The URL of a new, empty database with a name that nobody else uses."""
        name = f"{prefix}_{os.getpid()}_{uuid.uuid4().hex[:12]}"
        template = POSTGRESQL_CREATE if self.is_postgresql else MARIADB_CREATE
        self.execute(template.format(name=name))
        return as_text(self.url.set(database=name))

    def drop_database(self, url: str) -> None:
        """Also while somebody is still connected to it."""
        name = make_url(url).database
        if self.is_postgresql:
            self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        else:
            self.end_sessions(url)
            self.execute(f"DROP DATABASE IF EXISTS `{name}`")

    @contextlib.contextmanager
    def empty_database(self, prefix: str = "trueup") -> Iterator[str]:
        url = self.create_database(prefix)
        try:
            yield url
        finally:
            self.drop_database(url)

    def end_sessions(self, url: str) -> None:
        """MariaDB lets a DROP wait for every open transaction, so they have to go first."""
        named = "SELECT id FROM information_schema.processlist WHERE db = :name"
        with self._connected() as connection:
            found = connection.execute(sqlalchemy.text(named), {"name": make_url(url).database})
            for session in found.scalars().all():
                # It may have ended by itself in the meantime.
                with contextlib.suppress(sqlalchemy.exc.OperationalError):
                    connection.execute(sqlalchemy.text(f"KILL {session}"))

    def execute(self, statement: str) -> None:
        with self._connected() as connection:
            connection.execute(sqlalchemy.text(statement))

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlalchemy.Connection]:
        url = self.url.set(database="postgres") if self.is_postgresql else self.url
        engine = sqlalchemy.create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            yield connection


def answers(url: URL) -> bool:
    """Whether a server answers there and accepts the password."""
    try:
        DatabaseServer(url).execute("SELECT 1")
    except sqlalchemy.exc.OperationalError:
        return False
    return True


def as_text(url: URL) -> str:
    return url.render_as_string(hide_password=False)
