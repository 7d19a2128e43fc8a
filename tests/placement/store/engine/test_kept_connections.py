# SPDX-License-Identifier: Apache-2.0
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from threading import Event
from unittest import mock

import pytest
from sqlalchemy import Connection, Engine, QueuePool, create_engine, event, inspect, text

from trueup.placement.store import own_tables
from trueup.placement.store.engine import database as database_module
from trueup.placement.store.engine.availability import DatabaseError, is_away
from trueup.placement.store.engine.database import Database
from trueup.placement.store.engine.kept_connections import KeptConnections
from trueup.placement.store.engine.sessions import DatabaseOptions

CONNECTIONS = 2
FOREVER_SECONDS = 3600.0


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An engine whose pool has two connections, and does not wait long for one."""
    sizes = {"pool_size": CONNECTIONS, "max_overflow": 0, "pool_timeout": 20}
    engine = create_engine(f"sqlite:///{tmp_path / 'file'}", poolclass=QueuePool, **sizes)
    yield engine
    engine.dispose()


@pytest.fixture
def taken(engine: Engine) -> list[object]:
    """The connections that the pool gave, in order."""
    seen: list[object] = []
    event.listen(engine, "checkout", lambda one, *_: seen.append(one))
    return seen


def kept(
    *, seconds: float = FOREVER_SECONDS, idle_seconds: float = FOREVER_SECONDS
) -> KeptConnections:
    """Those of the engine above."""
    return KeptConnections(CONNECTIONS, seconds=seconds, idle_seconds=idle_seconds)


def out(engine: Engine) -> int:
    """How many connections the pool lacks."""
    assert isinstance(engine.pool, QueuePool)
    return engine.pool.checkedout()


def test_a_connection_serves_one_block_after_the_other(engine: Engine, taken: list[object]) -> None:
    connections = kept()
    for _ in range(3):
        with connections.take(engine):
            assert out(engine) == 1
    assert len(taken) == 1
    with connections.take(engine) as one, connections.take(engine) as another:
        assert one is not another
    assert len(taken) == 2


@pytest.mark.parametrize("limit", ["seconds", "idle_seconds"])
def test_after_its_time_it_goes_back(limit: str, engine: Engine, taken: list[object]) -> None:
    """There it is pinged if it was idle: a server may have closed it meanwhile."""
    connections = kept(**{limit: 0})
    for _ in range(3):
        with connections.take(engine):
            assert out(engine) == 1
    assert len(taken) == 3


def test_after_their_time_all_take_turns(engine: Engine, taken: list[object]) -> None:
    """As with the pool alone: none is idle for so long that a firewall drops it unnoticed."""
    connections = kept(seconds=0)
    with connections.take(engine), connections.take(engine):
        pass
    del taken[:]
    for _ in range(CONNECTIONS):
        with connections.take(engine):
            assert out(engine) == 1
    assert len(set(taken)) == CONNECTIONS


def test_the_pool_gets_back_what_is_not_clean(engine: Engine) -> None:
    connections = kept()
    with suppress(RuntimeError), connections.take(engine):
        raise RuntimeError
    assert out(engine) == 0
    with connections.take(engine) as connection:
        connection.execute(text("SELECT 1"))
        assert connection.in_transaction()
    assert out(engine) == 0


def test_those_that_are_idle_can_be_given_back(engine: Engine) -> None:
    connections = kept()
    with connections.take(engine), connections.take(engine):
        pass
    assert out(engine) == 2
    connections.give_back()
    assert out(engine) == 0


def test_what_is_in_use_when_the_others_are_given_back_goes_back_later(engine: Engine) -> None:
    """Such as that of the search for foreign writes, while an embedded service is closed."""
    connections = kept()
    with connections.take(engine):
        connections.give_back()
        assert out(engine) == 1
    assert out(engine) == 0


def test_an_engine_never_waits_for_what_is_idle_for_another(engine: Engine) -> None:
    connections = kept()
    engines = [engine, *(engine.execution_options(trueup_kind=kind) for kind in range(2))]
    for one in engines * 2:
        with connections.take(one) as first, connections.take(one) as second:
            assert first.engine is second.engine is one


def test_a_thread_that_waits_for_the_pool_gets_what_is_released(engine: Engine) -> None:
    connections, asks = kept(), Event()
    connect = engine.connect

    def wait_in_turn() -> Connection:
        asks.set()
        return connect()

    def use_one() -> bool:
        with connections.take(engine) as connection:
            return not connection.closed

    with ThreadPoolExecutor(1) as pool:
        with (
            connections.take(engine),
            connections.take(engine),
            mock.patch.object(engine, "connect", wait_in_turn),
        ):
            waiting = pool.submit(use_one)
            assert asks.wait(20)
        assert waiting.result()


@pytest.mark.parametrize("idle_seconds", [0.0001, FOREVER_SECONDS])
@pytest.mark.parametrize("seconds", [0, 0.001, FOREVER_SECONDS])
def test_many_threads_share_few_connections(
    engine: Engine, seconds: float, idle_seconds: float
) -> None:
    """Nobody waits in vain, and no two use one connection at the same time."""
    connections = kept(seconds=seconds, idle_seconds=idle_seconds)
    engines = [engine, *(engine.execution_options(trueup_kind=kind) for kind in range(2))]
    used: set[object] = set()

    def work(seed: int) -> None:
        chosen = random.Random(seed)
        for _ in range(200):
            with suppress(RuntimeError), connections.take(chosen.choice(engines)) as connection:
                session = connection.connection.dbapi_connection
                assert session not in used
                used.add(session)
                if chosen.random() < 0.2:
                    connection.execute(text("SELECT 1"))
                used.remove(session)
                if chosen.random() < 0.2:
                    raise RuntimeError

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    connections.give_back()
    assert out(engine) == 0


SESSION = {"mariadb": "SELECT CONNECTION_ID()", "postgresql": "SELECT pg_backend_pid()"}
END = {"mariadb": "KILL {}", "postgresql": "SELECT pg_terminate_backend({})"}


@pytest.mark.parametrize("kind", SESSION)
def test_when_one_is_lost_the_others_are_not_used_again(
    kind: str, fresh_database: Callable[[str], str]
) -> None:
    """A server that was restarted costs one request an error, and not one for each connection."""
    url = fresh_database(kind)
    with closing(Database(url)) as database, closing(Database(url)) as other:
        with ExitStack() as held:
            readers = [held.enter_context(database.reading()) for _ in range(3)]
            sessions = [one.exec_driver_sql(SESSION[kind]).scalar_one() for one in readers]
            for one in readers:
                one.rollback()
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


@pytest.mark.parametrize(("threads", "size"), [(2, 1), (2, 2), (4, 3)])
def test_no_more_sessions_stay_open_than_the_pool_keeps(
    threads: int, size: int, fresh_database: Callable[[str], str]
) -> None:
    """Others use the same server: what is open beyond the size of the pool is only for a while."""
    opened: list[object] = []
    options = DatabaseOptions(pool_size=size, overflow=10)
    with closing(Database(fresh_database("postgresql"), options)) as database:
        pool, snapshot = database.engine.pool, partial(database.reading, snapshot=True)
        event.listen(pool, "connect", lambda one, *_: opened.append(one))
        event.listen(pool, "close", lambda one, *_: opened.remove(one))
        for take in (database.reading, database.transaction, snapshot):
            use_at_once(take, threads)
            assert len(opened) <= size


def use_at_once(take: Callable[[], AbstractContextManager[Connection]], count: int) -> None:
    with ExitStack() as held:
        for _ in range(count):
            held.enter_context(take())


def test_the_schema_never_waits_for_what_is_idle(with_one_session: Database) -> None:
    """After `db detach` while the service is up, another thread reads at any moment."""

    def after_a_read(engine: Engine) -> None:
        with with_one_session.reading():
            pass
        own_tables.add(engine)

    with mock.patch.object(database_module, "own_tables", mock.Mock(add=after_a_read)):
        with_one_session.add_own_tables()
    with with_one_session.reading() as tx:
        assert set(own_tables.OWN.tables) <= set(inspect(tx).get_table_names())
