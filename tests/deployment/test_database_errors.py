# SPDX-License-Identifier: Apache-2.0
"""What a database server can answer when it is not well: each time 503, and never SQL.

Every fault is provoked on a real server; `test_error_table.py` has those that cannot be. The
request is refused while the fault lasts, and accepted afterwards, by the same service.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from tests.deployment.faults import (
    database_on_small_disk,
    mariadb_with_small_files,
    mariadb_with_small_tmpdir,
)
from tests.deployment.sites import IMPATIENT, NOAUTH, Site, check_unavailable, taken, write
from tests.placement.client import Client, Reply
from tests.races.test_races import ON_ONE_CLUSTER
from tests.servers.databases import DatabaseServer
from tests.servers.galera import GaleraCluster
from tests.servers.processes import poll
from trueup.placement.app import make_app
from trueup.placement.store import schema

Fault = Callable[[Site], Any]


@contextmanager
def read_only(site: Site) -> Iterator[None]:
    """1290, 25006: a standby, or a primary that an operator froze."""
    if site.kind == "mariadb":
        site.tell("SET GLOBAL read_only = 1")
    else:
        site.tell('ALTER DATABASE "{database}" SET default_transaction_read_only = on')
        site.end_sessions()
    try:
        yield
    finally:
        if site.kind == "mariadb":
            site.tell("SET GLOBAL read_only = 0")
        else:
            # Sessions that began before stay read-only.
            site.tell('ALTER DATABASE "{database}" RESET default_transaction_read_only')


@contextmanager
def statement_time_limit(site: Site) -> Iterator[None]:
    """1969, 57014: a limit that an operator set, reached while waiting for a lock."""
    if site.kind == "mariadb":
        site.tell("SET GLOBAL max_statement_time = 1")
    else:
        site.tell('ALTER DATABASE "{database}" SET statement_timeout = 1000')
    site.end_sessions()
    try:
        with site.locked():
            yield
    finally:
        if site.kind == "mariadb":
            site.tell("SET GLOBAL max_statement_time = 0")
        else:
            site.tell('ALTER DATABASE "{database}" RESET statement_timeout')
        site.end_sessions()


@contextmanager
def sessions_of_the_account(site: Site) -> Iterator[None]:
    """1226, 53300: the account may have no more sessions."""
    if site.kind == "mariadb":
        limit = "ALTER USER {{account}}@'%' WITH MAX_USER_CONNECTIONS {}"
        none, one = limit.format(0), limit.format(1)
    else:
        limit = "ALTER ROLE {{account}} CONNECTION LIMIT {}"
        none, one = limit.format(-1), limit.format(1)
    site.tell(one)
    site.end_sessions()
    with closing(taken(site.url)):
        yield
    site.tell(none)


@contextmanager
def sessions_of_the_server(site: Site) -> Iterator[None]:
    """1040: all sessions of the server are taken."""
    site.tell("SET GLOBAL max_connections = 10")
    site.end_sessions()
    mine: list[Any] = []
    try:
        with suppress(OperationalError):
            while True:
                mine.append(taken(site.url))
        yield
    finally:
        for one in mine:
            one.close()
        site.tell("SET GLOBAL max_connections = 300")


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("mariadb", read_only),
        ("postgresql", read_only),
        ("mariadb", statement_time_limit),
        ("postgresql", statement_time_limit),
        ("mariadb", sessions_of_the_account),
        ("postgresql", sessions_of_the_account),
        ("mariadb", sessions_of_the_server),
    ],
)
def test_a_server_that_refuses_is_unavailable_until_it_does_not(
    make_site: Callable[..., Site], kind: str, fault: Fault
) -> None:
    site = make_site(kind)
    with fault(site):
        check_unavailable(write(site.client))
        check_unavailable(write(site.client))
        assert site.client.get("/").status == 200
    assert write(site.client).status == 204


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_a_write_waits_for_a_lock_for_a_bounded_time(
    make_site: Callable[..., Site], kind: str
) -> None:
    """1205, 55P03."""
    site = make_site(kind, IMPATIENT)
    with site.locked():
        check_unavailable(write(site.client))
        assert site.client.get("/resource_providers").status == 200
        assert site.client.get("/allocation_candidates?resources=VCPU:1").status == 200
    assert write(site.client).status == 204


def test_a_postgresql_without_memory_for_locks(make_site: Callable[..., Site]) -> None:
    """53200: somebody else holds as many locks as the server can keep."""
    site = make_site("postgresql")
    every = "SELECT pg_advisory_lock(number) FROM generate_series(1, 1000000) AS number"
    url = site.server.url.set(database=site.database)
    engine = sqlalchemy.create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as other:
        with pytest.raises(OperationalError, match="out of shared memory"):
            other.exec_driver_sql(every)
        check_unavailable(write(site.client))
        assert site.client.get("/").status == 200
        other.exec_driver_sql("SELECT pg_advisory_unlock_all()")
    assert write(site.client).status == 204


def test_a_backup_that_locks_every_table(make_site: Callable[..., Site]) -> None:
    site = make_site("mariadb", IMPATIENT)
    with site.locked("FLUSH TABLES WITH READ LOCK"):
        check_unavailable(write(site.client))
        assert site.client.get("/resource_providers").status == 200
    assert write(site.client).status == 204


def test_a_table_that_is_rebuilt_while_candidates_are_read(make_site: Callable[..., Site]) -> None:
    """1412: the snapshot is older than the table."""
    site = make_site("mariadb")
    rebuilt: list[str] = []

    def rebuild(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        if not rebuilt and "FROM trueup_changes" in statement:
            rebuilt.append(statement)
            site.tell("OPTIMIZE TABLE `{database}`.inventories")

    engine = site.client.application.database.engine
    sqlalchemy.event.listen(engine, "after_cursor_execute", rebuild)
    reply = site.client.get("/allocation_candidates?resources=VCPU:1")
    assert (reply.status, len(rebuilt)) == (200, 1), reply


# A session that was lost is replaced once, so that it takes two to see it.
STOPPING = {
    "mariadb": (("KILL QUERY {}", 1), ("KILL {}", 2)),
    "postgresql": (("SELECT pg_cancel_backend({})", 1), ("SELECT pg_terminate_backend({})", 2)),
}


@pytest.mark.parametrize(
    ("kind", "stopping", "times"),
    [(kind, *row) for kind, rows in STOPPING.items() for row in rows],
)
def test_somebody_stops_a_statement(
    make_site: Callable[..., Site], kind: str, stopping: str, times: int
) -> None:
    """1317, 1927, 2013, 57014, 57P01."""
    site = make_site(kind)
    replies: list[Reply] = []
    with site.locked():
        asking = threading.Thread(target=lambda: replies.append(write(site.client)))
        asking.start()
        stopped: list[int] = []
        for _ in range(times):
            stopped.append(site.wait(stopped))
            site.server.execute(stopping.format(stopped[-1]))
        asking.join()
    check_unavailable(replies[0])
    assert write(site.client).status == 204


@pytest.fixture
def node_site(galera_cluster: GaleraCluster) -> Iterator[Site]:
    """A service on the second node of a cluster, which is whole again afterwards."""
    node = galera_cluster.nodes[1]
    with node.server.empty_database() as url:
        schema.create(url)
        with closing(make_app(url, NOAUTH)) as application:
            client = Client(application)
            client.make_provider(1, inventories={"VCPU": 8})
            yield Site("mariadb", node.server, url, client)


@ON_ONE_CLUSTER
def test_a_node_without_a_quorum(galera_cluster: GaleraCluster, node_site: Site) -> None:
    """1047."""
    client, node = node_site.client, galera_cluster.nodes[1]
    node.isolate()
    try:
        assert poll(lambda: node.status("wsrep_cluster_status") == "non-Primary", 30)
        check_unavailable(write(client))
        check_unavailable(client.get("/resource_providers"))
        assert client.get("/").status == 200
    finally:
        node.rejoin()
        galera_cluster.settle()
    assert write(client).status == 204


@ON_ONE_CLUSTER
def test_a_commit_that_no_other_node_confirms(
    galera_cluster: GaleraCluster, node_site: Site
) -> None:
    """1180, or 1047 if the node noticed earlier."""
    others = [galera_cluster.nodes[0], galera_cluster.nodes[2]]
    for other in others:
        other.freeze()
    try:
        check_unavailable(write(node_site.client))
    finally:
        for other in others:
            other.thaw()
        galera_cluster.settle()
    assert write(node_site.client).status in {204, 409}  # it may have been written after all


def test_a_mariadb_without_room() -> None:
    """1114: the disk is full, or the quota is reached."""
    with mariadb_with_small_files() as server, server.empty_database() as url:
        schema.create(url)
        with closing(make_app(url, NOAUTH)) as application:
            client = Client(application)
            fill(server.url.set(database=make_url(url).database), "traits", "REPEAT('x', 240)")
            check_unavailable(until_refused(client))
            assert client.get("/resource_providers").status == 200


def test_a_mariadb_without_room_for_temporary_tables() -> None:
    """1021: its `tmpdir` is full, so that reads fail."""
    with mariadb_with_small_tmpdir() as (server, tmpdir), server.empty_database() as url:
        schema.create(url)
        server.execute("SET GLOBAL tmp_memory_table_size = 1024, GLOBAL sort_buffer_size = 1024")
        with closing(make_app(url, NOAUTH)) as application:
            client = Client(application)
            for number in range(1, 6):
                client.make_provider(number, inventories={"VCPU": 8})
            with tmpdir.full():
                check_unavailable(client.get("/resource_providers"))
            assert client.get("/resource_providers").status == 200
            assert write(client).status == 204


def test_a_postgresql_without_room(postgresql_server: DatabaseServer, tmp_path: Path) -> None:
    """53100."""
    with database_on_small_disk(postgresql_server) as url:
        schema.create(url)
        with closing(make_app(url, NOAUTH)) as application:
            client = Client(application)
            named = make_url(url).set(drivername="postgresql+psycopg")
            fill(named, "traits", "repeat('x', 240)")
            check_unavailable(until_refused(client))
            assert client.get("/resource_providers").status == 200


def fill(url: sqlalchemy.URL, table: str, text: str) -> None:
    """Insert rows until there is no room for one more."""
    engine = sqlalchemy.create_engine(url, poolclass=NullPool)
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})"
    shorter = f"concat('CUSTOM_', {{seed}} + i, {text})"
    seed = 0
    for rows in (900, 100, 10, 1):
        with suppress(sqlalchemy.exc.DBAPIError), engine.connect() as connection:
            while True:
                seed += rows
                connection.execute(
                    sqlalchemy.text(
                        f"INSERT INTO {table} (name) {numbers.format(rows=rows)} "
                        f"SELECT {shorter.format(seed=seed * 1000)} FROM n"
                    )
                )
                connection.commit()


def until_refused(client: Client) -> Reply:
    """The first answer that is no success, of many writes."""
    for number in range(2000):
        reply = client.put(f"/traits/CUSTOM_{'Y' * 200}_{number}")
        if reply.status != 201:
            break
    return reply


def test_sqlite_locked_full_and_read_only(empty_sqlite: tuple[str, Client]) -> None:
    url, client = empty_sqlite
    other = sqlalchemy.create_engine(url).connect()
    other.exec_driver_sql("BEGIN IMMEDIATE")
    check_unavailable(write(client))
    assert client.get("/resource_providers").status == 200
    other.close()
    with pragma(client, "query_only = 1", "query_only = 0"):
        check_unavailable(write(client))
    with pragma(client, "max_page_count = 1", "max_page_count = 1000000"):
        check_unavailable(until_refused(client))
    assert write(client).status == 204


@pytest.fixture
def empty_sqlite(fresh_database: Callable[[str], str]) -> Iterator[tuple[str, Client]]:
    url = fresh_database("sqlite")
    schema.create(url)
    settings = NOAUTH | {"trueup": {"lock_wait_timeout": IMPATIENT}}
    with closing(make_app(url, settings)) as application:
        client = Client(application)
        client.make_provider(1, inventories={"VCPU": 8})
        yield url, client


@contextmanager
def pragma(client: Client, begin: str, end: str) -> Iterator[None]:
    """Set this in every session of the service."""
    engine = client.application.database.engine

    def prepare(connection: Any, _record: Any, _proxy: Any) -> None:
        connection.execute(f"PRAGMA {begin}")

    sqlalchemy.event.listen(engine, "checkout", prepare)
    yield
    sqlalchemy.event.remove(engine, "checkout", prepare)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"PRAGMA {end}")
