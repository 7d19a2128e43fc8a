# SPDX-License-Identifier: Apache-2.0
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path

import pymysql
import pytest
from sqlalchemy import Connection, insert, select, text
from sqlalchemy.exc import IntegrityError, OperationalError

from trueup.model.errors import ConcurrentUpdate
from trueup.placement.store import schema
from trueup.placement.store.engine.availability import DatabaseError, is_away
from trueup.placement.store.engine.database import (
    Database,
    DatabaseOptions,
    Transaction,
    in_transaction,
)
from trueup.placement.store.tables import projects, users


@pytest.fixture
def database(ledger_url: str) -> Iterator[Database]:
    with closing(Database(ledger_url)) as database:
        yield database


def add(database: Database, name: str) -> None:
    with database.transaction() as tx:
        tx.execute(insert(projects).values(external_id=name))


def names(database: Database) -> list[str]:
    with database.reading() as tx:
        return sorted(tx.scalars(select(projects.c.external_id)))


def test_a_block_that_raises_writes_nothing(database: Database) -> None:
    def fail() -> None:
        with database.transaction() as tx:
            tx.execute(insert(projects).values(external_id="lost"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    add(database, "kept")
    assert names(database) == ["kept"]


def test_a_snapshot_sees_one_moment(database: Database) -> None:
    with database.reading(snapshot=True) as tx:
        assert tx.scalars(select(projects.c.external_id)).all() == []
        add(database, "later")
        assert tx.scalars(select(projects.c.external_id)).all() == []
    assert names(database) == ["later"]


def test_a_snapshot_leaves_prepared_statements(fresh_database: Callable[[str], str]) -> None:
    """psycopg prepares what it sends often. Without that, PostgreSQL plans it each time."""
    prepared = text("SELECT count(*) FROM pg_prepared_statements")
    options = DatabaseOptions(pool_size=1, overflow=0)
    with closing(Database(fresh_database("postgresql"), options)) as database:
        for _ in range(10):
            with database.transaction() as tx:
                tx.scalar(text("SELECT 'often'"))
        with database.reading(snapshot=True) as tx:
            before = tx.scalar(prepared)
        with database.reading() as tx:
            assert tx.scalar(prepared) == before > 0


def test_after_a_duplicate_key_the_transaction_runs_again(database: Database) -> None:
    attempts = []

    @in_transaction
    def add_unless_there(tx: Transaction) -> str:
        attempts.append(1)
        known = tx.scalars(select(projects.c.external_id)).all() if attempts[1:] else []
        if "one" in known:
            return "there"
        add_behind_the_back()
        tx.execute(insert(projects).values(external_id="one"))
        return "added"

    def add_behind_the_back() -> None:
        if not database.is_sqlite:
            add(database, "one")

    if database.is_sqlite:
        add(database, "one")
    assert add_unless_there(database) == "there"
    assert len(attempts) == 2


def test_after_a_deadlock_the_transaction_runs_again(database: Database) -> None:
    """Each has what the other wants; one of the two has to give way, and both get through."""
    for name in ("a", "b"):
        add(database, name)
    meeting = threading.Barrier(2)
    done = []

    def lock_both(first: str, second: str) -> None:
        met = []

        @in_transaction
        def write(tx: Transaction) -> None:
            for name in (first, second):
                query = select(projects.c.id).where(projects.c.external_id == name)
                tx.execute(query.with_for_update()).all()
                if not met and not database.is_sqlite:
                    met.append(meeting.wait())
            tx.execute(insert(users).values(external_id=first + second))

        write(database)
        done.append(first)

    pair = [threading.Thread(target=lock_both, args=names) for names in ("ab", "ba")]
    for thread in pair:
        thread.start()
    for thread in pair:
        thread.join()
    assert sorted(done) == ["a", "b"]


def test_a_transaction_that_conflicts_too_often_is_refused(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)

    @in_transaction
    def always_late(_tx: Transaction) -> None:
        raise IntegrityError("INSERT", {}, Exception("taken"))

    with pytest.raises(ConcurrentUpdate):
        always_late(database)


def test_other_failures_are_not_tried_again(database: Database) -> None:
    attempts = []

    @in_transaction
    def broken(_tx: Transaction) -> None:
        attempts.append(1)
        raise OperationalError("SELECT", {}, Exception("no such table"))

    with pytest.raises(OperationalError):
        broken(database)
    assert attempts == [1]


@pytest.mark.parametrize(
    ("url", "driver"),
    [
        ("postgresql://h/d", "postgresql+psycopg"),
        ("postgresql+psycopg2://h/d", "postgresql+psycopg"),
        ("mysql://h/d", "mysql+pymysql"),
        ("mysql+pymysql://h/d", "mysql+pymysql"),
        ("mariadb://h/d", "mysql+pymysql"),
        ("mariadb+pymysql://h/d", "mysql+pymysql"),
        ("sqlite://", "sqlite"),
    ],
)
def test_urls_of_other_services_are_understood(url: str, driver: str) -> None:
    with closing(Database(url)) as database:
        assert database.engine.url.drivername == driver


@pytest.mark.parametrize(
    ("installed", "driver"), [(True, "mysql+mysqldb"), (False, "mysql+pymysql")]
)
def test_mysqlclient_is_used_where_it_is_installed(
    installed: bool, driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLAlchemy imports the driver; any module will do until something connects."""
    monkeypatch.setitem(sys.modules, "MySQLdb", pymysql if installed else None)
    with closing(Database("mysql+mysqldb://h/d")) as database:
        assert database.engine.url.drivername == driver


def test_a_database_in_memory_is_one_for_all_threads() -> None:
    with closing(Database("sqlite://")) as database:
        schema.create_tables(database)
        writer = threading.Thread(target=add, args=(database, "from elsewhere"))
        writer.start()
        writer.join()
        assert names(database) == ["from elsewhere"]


def test_databases_do_not_share_anything(tmp_path: Path) -> None:
    options = DatabaseOptions(synchronous=False)
    urls = [f"sqlite:///{tmp_path / name}" for name in ("first", "second")]
    with closing(Database(urls[0], options)) as first, closing(Database(urls[1])) as second:
        for database in (first, second):
            schema.create_tables(database)
        add(first, "mine")
        assert (names(first), names(second)) == (["mine"], [])


SESSION = {"mariadb": "SELECT CONNECTION_ID()", "postgresql": "SELECT pg_backend_pid()"}
END = {"mariadb": "KILL {}", "postgresql": "SELECT pg_terminate_backend({})"}


@pytest.mark.parametrize("kind", SESSION)
def test_after_a_lost_connection_the_others_are_not_used_again(
    kind: str, fresh_database: Callable[[str], str]
) -> None:
    """A server that was restarted costs one request an error, and not one for each connection."""
    url = fresh_database(kind)
    with closing(Database(url)) as database, closing(Database(url)) as other:
        with ExitStack() as held:
            readers = [held.enter_context(database.reading()) for _ in range(3)]
            sessions = [reader.exec_driver_sql(SESSION[kind]).scalar_one() for reader in readers]
            for reader in readers:
                reader.rollback()
        with other.reading() as tx:
            for session in sessions:
                tx.exec_driver_sql(END[kind].format(session))
        with pytest.raises(DatabaseError) as lost, database.reading() as tx:
            tx.exec_driver_sql(SESSION[kind])
        assert is_away(lost.value)
        for _ in range(3):
            with database.reading() as tx:
                assert tx.exec_driver_sql(SESSION[kind]).scalar_one() not in sessions


@pytest.fixture
def with_one_session(fresh_database: Callable[[str], str]) -> Iterator[Database]:
    options = DatabaseOptions(pool_size=1, overflow=0, pool_timeout_seconds=1)
    with closing(Database(fresh_database("postgresql"), options)) as database:
        yield database


def test_a_pool_of_one_serves_reads_writes_repairs_and_the_schema(
    with_one_session: Database,
) -> None:
    def level(block: AbstractContextManager[Connection]) -> object:
        with block as tx:
            return tx.exec_driver_sql("SHOW transaction_isolation").scalar_one()

    database = with_one_session
    for _ in range(2):
        database.add_own_tables()
        assert level(database.reading()) == "read committed"
        assert level(database.transaction()) == "read committed"
        assert level(database.transaction(alone=True)) == "serializable"
        assert level(database.reading(snapshot=True)) == "repeatable read"
