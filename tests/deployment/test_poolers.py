# SPDX-License-Identifier: Apache-2.0
"""Between the service and PostgreSQL, a pooler lets many clients take turns in few sessions.

What one client prepares or sets in a session, another one finds there.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest
from sqlalchemy import text

from tests.placement.client import UUID, Client, claim
from tests.servers.pgbouncer import pgbouncer_to
from tests.servers.processes import ProgramMissing
from tests.servers.skipping import skip_without
from trueup.placement.app import make_app
from trueup.placement.store import migrations
from trueup.placement.store.engine.availability import UrlUnusable, open_database
from trueup.placement.store.engine.database import Database
from trueup.placement.store.engine.sessions import DatabaseOptions

NOAUTH = {"api": {"auth_strategy": "noauth2"}}
WORKERS, ROUNDS = 4, 25
LOCK_TIMEOUT = text("SELECT setting::int / 1000 FROM pg_settings WHERE name = 'lock_timeout'")
PREPARED = text("SELECT count(*) FROM pg_prepared_statements WHERE NOT from_sql")
ADVISORY = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")


@pytest.fixture
def direct_url(fresh_database: Callable[[str], str]) -> str:
    return fresh_database("postgresql")


@pytest.fixture
def pooled_url(direct_url: str) -> Iterator[str]:
    """A PgBouncer in transaction mode, with fewer sessions than clients."""
    try:
        with pgbouncer_to(direct_url) as url:
            yield url
    except ProgramMissing as missing:
        skip_without(str(missing))


def claims_of_many(url: str) -> None:
    """Several services claim at the same time, and each client gets its own answers."""

    def work(number: int) -> list[int]:
        with closing(make_app(url, NOAUTH)) as application:
            client = Client(application)
            client.make_provider(number, inventories={"VCPU": 8, "MEMORY_MB": 64})
            wrong = []
            for turn in range(ROUNDS):
                amounts = {number: {"VCPU": 1 + turn % 4, "MEMORY_MB": number}}
                consumer = UUID(100 + number)
                wrong += [client.put(f"/allocations/{consumer}", claim(amounts)).status]
                held = client.get(f"/allocations/{consumer}").json["allocations"]
                assert {one: held[one]["resources"] for one in held} == {
                    UUID(number): amounts[number]
                }
                asked = f"resources=VCPU:{8 - turn % 4}&in_tree={UUID(number)}"
                found = client.get(f"/allocation_candidates?{asked}").json
                assert found["allocation_requests"] == []
                usages = client.get(f"/resource_providers/{UUID(number)}/usages").json["usages"]
                assert usages == amounts[number]
                wrong += [client.delete(f"/allocations/{consumer}").status]
            return [status for status in wrong if status != 204]

    with ThreadPoolExecutor(WORKERS) as pool:
        assert list(pool.map(work, range(1, 1 + WORKERS))) == [[]] * WORKERS


def test_many_clients_get_their_own_answers(pooled_url: str) -> None:
    with closing(Database(pooled_url)) as database:
        migrations.upgrade(database)
    claims_of_many(pooled_url)


def test_a_session_is_left_as_it_was(pooled_url: str, direct_url: str) -> None:
    """Waiting for locks is bounded in each transaction, and nothing is left for the next client."""
    options = DatabaseOptions(lock_wait_seconds=7)
    with closing(Database(pooled_url, options)) as database:
        migrations.upgrade(database)
        for _ in range(10):
            with database.transaction() as tx:
                assert tx.scalar(LOCK_TIMEOUT) == 7
            with database.reading(snapshot=True) as tx:
                assert tx.scalar(LOCK_TIMEOUT) == 7
            with database.reading() as tx:
                assert tx.scalar(LOCK_TIMEOUT) == 0
                assert tx.scalar(PREPARED) == 0
    with closing(Database(direct_url)) as database, database.reading() as tx:
        assert tx.scalar(ADVISORY) == 0


def test_processes_that_make_the_tables_at_once_wait_for_each_other(pooled_url: str) -> None:
    with ExitStack() as at_the_end, ThreadPoolExecutor(WORKERS) as pool:
        databases = [
            at_the_end.enter_context(closing(Database(pooled_url))) for _ in range(WORKERS)
        ]
        list(pool.map(migrations.upgrade, databases))
        assert migrations.revision(databases[0])


def test_a_session_of_ones_own_keeps_its_statements(direct_url: str) -> None:
    options = DatabaseOptions(pool_size=1, overflow=0, lock_wait_seconds=7)
    with closing(Database(direct_url, options)) as database, database.reading() as tx:
        for _ in range(10):
            assert tx.scalar(LOCK_TIMEOUT) == 7
        assert tx.scalar(PREPARED) > 0


@pytest.mark.parametrize(("said", "is_prepared"), [("0", True), ("3", True), ("none", False)])
def test_the_url_may_say_when_statements_are_prepared(
    said: str, is_prepared: bool, direct_url: str
) -> None:
    url = f"{direct_url}?prepare_threshold={said}"
    with closing(open_database(url, DatabaseOptions())) as database, database.reading() as tx:
        for _ in range(5):
            tx.scalar(LOCK_TIMEOUT)
        assert (tx.scalar(PREPARED) > 0) is is_prepared


@pytest.mark.parametrize("said", ["prepare_threshold=often", "autocommit=1", "row_factory=x"])
def test_what_a_url_cannot_say_is_refused(said: str) -> None:
    with pytest.raises(UrlUnusable, match=said.partition("=")[0]):
        open_database(f"postgresql://a:b@localhost/c?{said}", DatabaseOptions())
