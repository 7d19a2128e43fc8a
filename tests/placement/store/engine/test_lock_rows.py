# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError

from trueup.placement.store import migrations
from trueup.placement.store.engine import lock_rows
from trueup.placement.store.engine.database import Database
from trueup.placement.store.own_tables import locks as rows

DO_NOT_WAIT = {
    "mariadb": "SET SESSION innodb_lock_wait_timeout = 0",
    "postgresql": "SET SESSION lock_timeout = '20ms'",
}


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url)) as database:
        migrations.attach(database)
        yield database


def count(database: Database) -> int:
    with database.reading() as tx:
        return tx.scalar(select(func.count()).select_from(rows)) or 0


@pytest.fixture(params=DO_NOT_WAIT)
def server(
    request: pytest.FixtureRequest, fresh_database: Callable[[str], str]
) -> Iterator[tuple[Database, str]]:
    """A database where transactions can meet, and how not to wait there."""
    with closing(Database(fresh_database(request.param))) as database:
        migrations.attach(database)
        yield database, DO_NOT_WAIT[request.param]


def test_a_transaction_waits_for_a_locked_row(server: tuple[Database, str]) -> None:
    database, do_not_wait = server
    # At first the row is made, then it is there.
    for _ in range(2):
        with database.transaction() as one, database.transaction() as other:
            lock_rows.take(one, lock_rows.TREE, [1, 2])
            lock_rows.take(other, lock_rows.TREE, [3])
            lock_rows.take(other, lock_rows.PROVIDER, [1])
            other.execute(text(do_not_wait))
            with pytest.raises(DBAPIError):
                lock_rows.take(other, lock_rows.TREE, [2])
            other.rollback()


def test_many_subjects_need_few_rows(database: Database) -> None:
    with database.transaction() as tx:
        lock_rows.take(tx, lock_rows.TREE, range(1000))
    assert count(database) < 100


def test_without_subjects_nothing_is_written(database: Database) -> None:
    with database.transaction() as tx:
        lock_rows.take(tx, lock_rows.TREE, [])
    assert count(database) == 0


def test_an_id_of_a_class_is_given_once(database: Database) -> None:
    with database.transaction() as tx:
        assert lock_rows.next_class_id(tx, 10_000) == 10_000
        assert lock_rows.next_class_id(tx, 10_000) == 10_001
        # Another service assigned these ids.
        assert lock_rows.next_class_id(tx, 10_007) == 10_007
        lock_rows.keep_class_id(tx, 10_020)
        lock_rows.keep_class_id(tx, 10_003)
        assert lock_rows.next_class_id(tx, 10_008) == 10_021
