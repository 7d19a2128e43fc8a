# SPDX-License-Identifier: Apache-2.0
"""What is set for each session, and how long opening one takes at most."""

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest
from sqlalchemy import text

from trueup.placement.store.engine.availability import DatabaseError, is_away
from trueup.placement.store.engine.database import Database
from trueup.placement.store.engine.sessions import DatabaseOptions

SHOWN = {
    "mariadb": "SELECT @@innodb_lock_wait_timeout",
    "postgresql": "SELECT setting::int / 1000 FROM pg_settings WHERE name = 'lock_timeout'",
    "sqlite": "SELECT timeout / 1000 FROM pragma_busy_timeout",
}


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A server that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize("kind", SHOWN)
def test_waiting_for_locks_is_bounded_also_after_a_rollback(kind, fresh_database):
    with closing(Database(fresh_database(kind), DatabaseOptions(lock_wait_seconds=7))) as database:
        for _ in range(2):
            with database.reading() as tx:
                assert tx.scalar(text(SHOWN[kind])) == 7
            with database.transaction() as tx:
                assert tx.scalar(text(SHOWN[kind])) == 7
                tx.rollback()


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_without_a_bound_the_servers_own_is_kept(kind, fresh_database):
    url = fresh_database(kind)
    database = Database(url, DatabaseOptions(lock_wait_seconds=None))
    with closing(database), database.reading() as tx:
        assert tx.scalar(text(SHOWN[kind])) in {0, 50}


@pytest.mark.parametrize("driver", ["mysql+pymysql", "postgresql"])
def test_a_server_that_says_nothing_is_given_up(driver, silent_port):
    url = f"{driver}://a:b@127.0.0.1:{silent_port}/c"
    with (
        closing(Database(url, DatabaseOptions(connect_seconds=2))) as database,
        pytest.raises(DatabaseError) as failed,
        database.reading(),
    ):
        pass
    assert is_away(failed.value)


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_statements_may_take_longer_than_connecting(kind, fresh_database):
    wait = {"mariadb": "SELECT SLEEP(3)", "postgresql": "SELECT 0 FROM pg_sleep(3)"}
    database = Database(fresh_database(kind), DatabaseOptions(connect_seconds=2))
    with closing(database), database.reading() as tx:
        assert tx.scalar(text(wait[kind])) == 0
