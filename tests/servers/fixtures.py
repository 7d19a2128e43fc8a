# SPDX-License-Identifier: Apache-2.0
"""The servers as pytest fixtures, started when the first test asks for one.

With xdist each worker has servers of its own. One takes about a second to come up, and it dies
with the process that started it, even when that is killed; a server shared by several workers
would need somebody to outlive them all, count them and clean up after the one that crashed.
Where that second or the memory matters, name servers that run already in the environment.
"""

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from tests.servers.databases import DatabaseServer
from tests.servers.mariadb import private_mariadb
from tests.servers.postgresql import private_postgresql
from tests.servers.processes import ProgramMissing

MARIADB_VARIABLE = "TRUEUP_TEST_MARIADB_URL"
POSTGRESQL_VARIABLE = "TRUEUP_TEST_POSTGRESQL_URL"
KINDS = ("sqlite", "mariadb", "postgresql")

ServerSource = Callable[[], contextlib.AbstractContextManager[DatabaseServer]]


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[DatabaseServer]:
    yield from _named_or_private(MARIADB_VARIABLE, private_mariadb)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[DatabaseServer]:
    yield from _named_or_private(POSTGRESQL_VARIABLE, private_postgresql)


@pytest.fixture
def fresh_database(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[[str], str]]:
    """`fresh_database("sqlite" | "mariadb" | "postgresql")` is the URL of an empty database.

    As many as a test wants; all of them are gone after it.
    """
    numbers = itertools.count(1)
    with contextlib.ExitStack() as dropped_at_the_end:

        def create(kind: str) -> str:
            if kind == "sqlite":
                return f"sqlite:///{tmp_path / f'database{next(numbers)}.sqlite'}"
            server: DatabaseServer = request.getfixturevalue(f"{kind}_server")
            return dropped_at_the_end.enter_context(server.empty_database())

        yield create


@pytest.fixture(params=KINDS)
def database_url(request: pytest.FixtureRequest, fresh_database: Callable[[str], str]) -> str:
    """The test runs once for each kind of database, each time on an empty one."""
    return fresh_database(request.param)


def _named_or_private(variable: str, private: ServerSource) -> Iterator[DatabaseServer]:
    named = os.environ.get(variable)
    if named:
        yield DatabaseServer(make_url(named)._replace(database=None))
        return
    try:
        with private() as server:
            yield server
    except ProgramMissing as missing:
        pytest.skip(f"{missing}, or name a server in {variable}")
