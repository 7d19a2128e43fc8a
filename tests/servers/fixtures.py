# SPDX-License-Identifier: Apache-2.0
"""The servers as pytest fixtures, started when the first test asks for one.

With xdist each worker has servers of its own. One takes about a second to come up, and it dies
with the process that started it, even when that is killed; a server shared by several workers
would need somebody to outlive them all, count them and clean up after the one that crashed.
Where that second or the memory matters, name servers that run already in the environment.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from tests.servers.browser import Browser, chromium
from tests.servers.databases import DatabaseServer, as_text
from tests.servers.emptying import empty, make_ready
from tests.servers.galera import GaleraCluster, private_galera
from tests.servers.processes import ProgramMissing
from tests.servers.skipping import skip_without
from tests.servers.sources import KINDS, MYSQLCLIENT, VARIABLES, WITHOUT_TLS, database_server


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[DatabaseServer]:
    yield from server_or_skip("mariadb")


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[DatabaseServer]:
    yield from server_or_skip("postgresql")


@pytest.fixture(scope="session")
def galera_cluster() -> Iterator[GaleraCluster]:
    """Three nodes that all take writes. A test that harms one waits until it is whole again."""
    try:
        with private_galera() as cluster:
            yield cluster
    except ProgramMissing as missing:
        skip_without(str(missing))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real Chromium with one page, the same for the whole session."""
    with chromium() as one:
        yield one


@pytest.fixture
def fresh_database(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[[str], str]]:
    """`fresh_database("sqlite" | "mariadb" | "mysqldb" | "postgresql")`: an empty database's URL.

    `mysqldb` is MariaDB with the driver mysqlclient instead of PyMySQL. As many as a test wants;
    all of them are gone after it.
    """
    numbers = itertools.count(1)
    with contextlib.ExitStack() as dropped_at_the_end:

        def create(kind: str) -> str:
            if kind == "sqlite":
                return f"sqlite:///{tmp_path / f'database{next(numbers)}.sqlite'}"
            if kind == MYSQLCLIENT:
                return by_mysqlclient(create("mariadb"))
            server: DatabaseServer = request.getfixturevalue(f"{kind}_server")
            return dropped_at_the_end.enter_context(server.empty_database())

        yield create


@pytest.fixture(params=(*KINDS, MYSQLCLIENT))
def database_url(request: pytest.FixtureRequest, fresh_database: Callable[[str], str]) -> str:
    """The test runs once for each kind of database, each time on an empty one."""
    return fresh_database(request.param)


@pytest.fixture(scope="session")
def emptied_sqlite(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_ready(f"sqlite:///{tmp_path_factory.mktemp('emptied') / 'database.sqlite'}")


@pytest.fixture(scope="session")
def emptied_mariadb(mariadb_server: DatabaseServer) -> Iterator[str]:
    with mariadb_server.empty_database() as url:
        yield make_ready(url)


@pytest.fixture(scope="session")
def emptied_postgresql(postgresql_server: DatabaseServer) -> Iterator[str]:
    with postgresql_server.empty_database() as url:
        yield make_ready(url)


@pytest.fixture
def upstream_database_url(request: pytest.FixtureRequest) -> str:
    """Of the kind that the test names: upstream's tables without rows, the same for a session."""
    return emptied_database(request, request.param)


def emptied_database(request: pytest.FixtureRequest, kind: str) -> str:
    """The URL of the session's database of this kind, with upstream's tables and without rows."""
    by_mysqldb = kind == MYSQLCLIENT
    url: str = request.getfixturevalue(f"emptied_{'mariadb' if by_mysqldb else kind}")
    empty(url)
    return by_mysqlclient(url) if by_mysqldb else url


def by_mysqlclient(url: str) -> str:
    """The same database of MariaDB by the driver mysqlclient; without it the test is skipped."""
    if find_spec("MySQLdb") is None:
        skip_without("mysqlclient is missing: install the package libmariadb-dev")
    of_pymysql = [*WITHOUT_TLS["mariadb"]]
    by_driver = make_url(url).set(drivername=f"mysql+{MYSQLCLIENT}")
    return as_text(by_driver.difference_update_query(of_pymysql))


def server_or_skip(kind: str) -> Iterator[DatabaseServer]:
    """A server of this kind; without its programs the test is skipped."""
    try:
        with database_server(kind) as server:
            yield server
    except ProgramMissing as missing:
        skip_without(f"{missing}, or name a server in {VARIABLES[kind]}")
