# SPDX-License-Identifier: Apache-2.0
"""A site in this process: a database, its server, and a service with an account of its own."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from tests.placement.client import Client, Reply
from tests.servers.databases import DatabaseServer, as_text
from tests.servers.processes import poll
from trueup.placement.app import make_app
from trueup.placement.store import schema

NOAUTH = {"api": {"auth_strategy": "noauth2"}}
PATIENT, IMPATIENT = 600, 1
"""Seconds that a write waits for a lock: longer than a test lasts, or the least there is."""
PASSWORD = "of-the-test"
SIGNS_OF_SQL = (
    "SELECT ",
    "INSERT INTO",
    "UPDATE resource",
    "DELETE FROM",
    "[SQL",
    "no such table",
    "pymysql",
    "psycopg",
    "sqlalche",
    "%(",
    "sqlite3",
)
LOCKING = "SELECT * FROM resource_providers FOR UPDATE"


@dataclass(frozen=True)
class Site:
    """A database, its server, an account without privileges of administrators, and a service."""

    kind: str
    server: DatabaseServer
    url: str
    client: Client

    @property
    def account(self) -> str:
        return str(make_url(self.url).username)

    @property
    def database(self) -> str:
        return str(make_url(self.url).database)

    def tell(self, statement: str) -> None:
        """Execute this as an administrator of the server."""
        self.server.execute(statement.format(account=self.account, database=self.database))

    def end_sessions(self) -> None:
        """Let the service open new ones."""
        if self.kind == "mariadb":
            self.server.end_sessions(self.url)
        else:
            self.tell(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{account}'"
            )

    @contextmanager
    def locked(self, statement: str = LOCKING) -> Iterator[None]:
        """Another session holds the locks of this statement."""
        url = self.server.url.set(database=self.database)
        engine = sqlalchemy.create_engine(url, poolclass=NullPool)
        with engine.connect() as other:
            other.execute(sqlalchemy.text(statement))
            yield

    def waiting(self) -> list[int]:
        """The sessions of the service that wait for a lock."""
        if self.kind == "mariadb":
            query = (
                "SELECT id FROM information_schema.processlist WHERE user = :account "
                "AND command IN ('Query', 'Execute') AND info LIKE '%UPDATE%'"
            )
        else:
            query = (
                "SELECT pid FROM pg_stat_activity "
                "WHERE usename = :account AND wait_event_type = 'Lock'"
            )
        engine = sqlalchemy.create_engine(
            self.server.url.set(database=self.database), poolclass=NullPool
        )
        with engine.connect() as connection:
            found = connection.execute(sqlalchemy.text(query), {"account": self.account})
            return list(found.scalars().all())

    def wait(self, without: Sequence[int] = ()) -> int:
        """A session of the service, as soon as it waits for a lock."""
        found: list[int] = []

        def look() -> bool:
            found[:] = [session for session in self.waiting() if session not in without]
            return bool(found)

        assert poll(look, 30)
        return found[0]


def write(client: Client) -> Reply:
    """A claim."""
    return client.claim(1, {1: {"VCPU": 1}})


def check_unavailable(reply: Reply) -> None:
    """The answer tells to try again later, and no SQL."""
    assert (reply.status, reply.error["title"]) == (503, "Service Unavailable"), reply
    assert int(reply.headers["retry-after"]) > 0
    assert not [sign for sign in SIGNS_OF_SQL if sign in reply.text], reply.text


@contextmanager
def site_of(
    kind: str, server: DatabaseServer, url: str, lock_wait_seconds: int = PATIENT
) -> Iterator[Site]:
    """A service over an empty database, with one provider of 8 VCPU."""
    named = make_url(url)
    schema.create(url)
    account = f"plain_{str(named.database)[-12:]}"
    give_account(server, kind, account, str(named.database))
    plain = as_text(named.set(username=account, password=PASSWORD))
    application = make_app(plain, NOAUTH | {"trueup": {"lock_wait_timeout": lock_wait_seconds}})
    try:
        client = Client(application)
        client.make_provider(1, inventories={"VCPU": 8})
        yield Site(kind, server, plain, client)
    finally:
        application.close()
        drop_account(server, kind, account)


def give_account(server: DatabaseServer, kind: str, account: str, database: str) -> None:
    if kind == "mariadb":
        server.execute(f"CREATE USER {account}@'%' IDENTIFIED BY '{PASSWORD}'")
        server.execute(f"GRANT ALL ON `{database}`.* TO {account}@'%'")
        return
    server.execute(f"CREATE ROLE {account} LOGIN PASSWORD '{PASSWORD}'")
    engine = sqlalchemy.create_engine(server.url.set(database=database), poolclass=NullPool)
    with engine.begin() as connection:
        for kind_of_object in ("TABLES", "SEQUENCES"):
            connection.execute(
                sqlalchemy.text(f"GRANT ALL ON ALL {kind_of_object} IN SCHEMA public TO {account}")
            )


def drop_account(server: DatabaseServer, kind: str, account: str) -> None:
    if kind == "mariadb":
        server.execute(f"DROP USER {account}@'%'")
    # PostgreSQL keeps roles that own privileges in a database; both end with the server.


def taken(url: str) -> Any:
    """A session of somebody else with the same account."""
    driver = {"postgresql": "postgresql+psycopg"}.get(make_url(url).get_backend_name())
    named = make_url(url).set(drivername=driver) if driver else url
    return sqlalchemy.create_engine(named, poolclass=NullPool).connect()
