# SPDX-License-Identifier: Apache-2.0
"""The settings of each session, and the time limit for opening one."""

import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from unittest import mock

import pytest
from sqlalchemy import bindparam, delete, insert, select, text

from trueup.placement.store import schema
from trueup.placement.store.engine.availability import DatabaseError, is_away
from trueup.placement.store.engine.database import Database
from trueup.placement.store.engine.sessions import DatabaseOptions
from trueup.placement.store.engine.statements import FixedStatement
from trueup.placement.store.tables import projects

SHOWN = {
    "mariadb": "SELECT @@innodb_lock_wait_timeout",
    "postgresql": "SELECT setting::int / 1000 FROM pg_settings WHERE name = 'lock_timeout'",
    "sqlite": "SELECT timeout / 1000 FROM pragma_busy_timeout",
}


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A server that accepts connections and is silent."""
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


@pytest.fixture(params=["mariadb", "mysqldb", "postgresql"])
def with_one_session(
    request: pytest.FixtureRequest, fresh_database: Callable[[str], str]
) -> Iterator[Database]:
    options = DatabaseOptions(pool_size=1, overflow=0, pool_timeout_seconds=1)
    with closing(Database(fresh_database(request.param), options)) as database:
        schema.create_tables(database)
        yield database


def add(tx: Any, name: str) -> None:
    tx.execute(insert(projects).values(external_id=name))


def refuse(tx: Any) -> None:
    """A request whose rows must not stay."""
    add(tx, "refused")
    raise RuntimeError


@pytest.mark.parametrize(("end", "write"), [("do_rollback", refuse), ("do_commit", add)])
def test_a_transaction_whose_end_was_stopped_is_not_continued_by_the_next(
    with_one_session: Database, end: str, write: Callable[..., None]
) -> None:
    """KILL QUERY can reach a session while it executes a ROLLBACK, which then does nothing."""
    dialect = with_one_session.engine.dialect
    stopped = dialect.loaded_dbapi.OperationalError(1317, "Query execution was interrupted")
    with (
        mock.patch.object(dialect, end, side_effect=stopped),
        pytest.raises(DatabaseError),
        with_one_session.transaction() as tx,
    ):
        write(tx, *(["refused"] if write is add else []))
    with with_one_session.transaction() as tx:
        add(tx, "kept")
    with with_one_session.reading() as tx:
        assert tx.scalars(select(projects.c.external_id)).all() == ["kept"]


def test_a_snapshot_whose_end_was_stopped_gives_its_place_back(with_one_session: Database) -> None:
    dialect = with_one_session.engine.dialect
    stopped = dialect.loaded_dbapi.OperationalError(1317, "Query execution was interrupted")
    with (
        mock.patch.object(dialect, "do_rollback", side_effect=stopped),
        pytest.raises(DatabaseError) as raised,
        with_one_session.reading(snapshot=True) as tx,
    ):
        tx.execute(text("SELECT missing"))
    # The traceback of the error has the session.
    with with_one_session.reading(snapshot=True) as tx:
        assert tx.scalar(text("SELECT 1")) == 1
    assert raised.value


OF_NAME = FixedStatement(delete(projects).where(projects.c.external_id == bindparam("name")))
DELETES = {
    "sent by us": lambda tx: OF_NAME.send(tx, {"name": "old"}).row_count,
    "sent by SQLAlchemy": lambda tx: tx.execute(delete(projects)).rowcount,
}


@pytest.mark.parametrize("kind", ["mariadb", "mysqldb"])
@pytest.mark.parametrize("way", DELETES)
def test_a_delete_that_was_stopped_at_its_beginning_is_sent_again(
    kind: str, way: str, fresh_database: Callable[[str], str]
) -> None:
    """MariaDB answers it as if it had found nothing, and not with an error."""
    with closing(Database(fresh_database(kind))) as database:
        schema.create_tables(database)
        with database.transaction() as tx:
            add(tx, "old")
        dialect, sent = database.engine.dialect, []
        execute = dialect.do_execute

        def stop_first(cursor: Any, statement: str, *others: Any) -> None:
            is_first = statement.startswith("DELETE") and not sent
            sent.append(statement)
            if is_first:
                execute(cursor, "DELETE FROM projects WHERE 1 = 0", ())
            else:
                execute(cursor, statement, *others)

        with (
            mock.patch.object(dialect, "do_execute", stop_first),
            database.transaction() as tx,
        ):
            assert DELETES[way](tx) == 1
        with database.reading() as tx:
            assert tx.scalars(select(projects)).all() == []
