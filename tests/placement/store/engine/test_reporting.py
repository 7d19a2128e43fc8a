# SPDX-License-Identifier: Apache-2.0
from contextlib import closing

import pytest
from sqlalchemy import text

from trueup.placement.meter import Meter
from trueup.placement.store.engine.database import Database, in_transaction
from trueup.placement.store.engine.sessions import DatabaseOptions


class Told(Meter):
    """Records the events."""

    def __init__(self):
        self.statements, self.connections, self.restarts = 0, [], []

    def statement_sent(self):
        self.statements += 1

    def connections_open(self, count, most):
        self.connections.append((count, most))

    def transaction_restarted(self, reason):
        self.restarts.append(reason)


@pytest.fixture
def reported():
    return Told()


@pytest.fixture
def database(database_url, reported):
    with closing(Database(database_url, DatabaseOptions(pool_size=2, overflow=1))) as database:
        database.report_to(reported)
        yield database


def test_statements_of_reads_and_writes_are_told(database, reported):
    with database.reading() as tx:
        tx.execute(text("SELECT 1"))
        tx.execute(text("SELECT 2"))
    with database.reading(snapshot=True) as tx:
        tx.execute(text("SELECT 3"))
    assert reported.statements >= 3


def test_connections_are_told_as_they_come_and_go(database, reported):
    with database.reading() as tx:
        tx.execute(text("SELECT 1"))
    assert reported.connections[-1][0] > 0
    database.close()
    assert reported.connections[-1][0] == 0


def test_a_duplicate_key_is_told(database, reported):
    with database.transaction() as tx:
        tx.execute(text("CREATE TABLE once (id INT PRIMARY KEY)"))
        tx.execute(text("INSERT INTO once VALUES (1)"))
    keys = iter((1, 1, 2))

    @in_transaction
    def add(tx):
        tx.execute(text(f"INSERT INTO once VALUES ({next(keys)})"))

    add(database)
    assert reported.restarts == ["duplicate", "duplicate"]
