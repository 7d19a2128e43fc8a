# SPDX-License-Identifier: Apache-2.0
"""A foreign database: one picture, in batches, within a time limit."""

import contextlib
import socket
import sys
import time
from collections.abc import Iterable
from datetime import timedelta

import pytest
import sqlalchemy
from sqlalchemy import column, select, table, text
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from tests.deployment.relay import relay_to
from tests.servers.databases import as_text
from trueup.reconcile.clock import now
from trueup.reconcile.sources import database as reading
from trueup.reconcile.sources.database import Alike, Database
from trueup.reconcile.sources.errors import DatabaseUnusable, Unreachable

NUMBERS = table("numbers", column("id"), column("word"))
COUNT = 25
PLAIN = tuple((number, "w") for number in range(COUNT))


def filled(url: str, words: Iterable[tuple[int, str | None]] = PLAIN) -> Database:
    engine = sqlalchemy.create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE numbers (id INTEGER, word VARCHAR(9))"))
        for number, word in words:
            connection.execute(
                text("INSERT INTO numbers VALUES (:id, :word)"), {"id": number, "word": word}
            )
    return Database("a cell", url)


@pytest.mark.parametrize("size", [1, 5, 24, 25, 26, 1000])
def test_rows_come_in_batches_each_of_them_once(fresh_database, monkeypatch, size):
    monkeypatch.setattr(reading, "BATCH_ROWS", size)
    database = filled(fresh_database("sqlite"))
    query = select(NUMBERS.c.id, NUMBERS.c.word)
    rows = database.ask(lambda session: list(session.every_row(query, NUMBERS.c.id)))
    assert [row.id for row in rows] == list(range(COUNT))


ODD = ("'quoted'", '"', "\\", "é", "{}", "a\nb", "\x01")


def test_values_are_the_same_in_whichever_way_they_come(database_url):
    """On SQLite, MariaDB and PostgreSQL: a batch that is packed, and rows one by one."""
    words = list(enumerate((None, "", *ODD)))
    query = select(NUMBERS.c.id, NUMBERS.c.word)
    database = filled(database_url, words)
    rows = database.ask(lambda session: list(session.every_row(query, NUMBERS.c.id)))
    assert [(row.id, row.word) for row in rows] == words
    assert {row.word for row in rows} == {word for _, word in words}
    nobody = query.where(NUMBERS.c.id < 0)
    assert database.ask(lambda session: list(session.every_row(nobody, NUMBERS.c.id))) == []


def test_a_server_tells_its_own_time_in_utc(database_url):
    """On this machine the servers have our clock."""
    database = filled(database_url)
    before, millisecond = now(), timedelta(milliseconds=1)
    told = database.ask(lambda session: session.clock())
    # SQLite tells milliseconds.
    assert before - millisecond <= told <= now() + millisecond


ALIKE = table("numbers", column("id"), column("word", Alike))


@pytest.mark.parametrize(("size", "kept"), [(2, 1), (2, 100), (1000, 100)])
def test_long_values_that_are_alike_are_the_same_too(database_url, monkeypatch, size, kept):
    """On SQLite, MariaDB and PostgreSQL."""
    monkeypatch.setattr(reading, "BATCH_ROWS", size)
    monkeypatch.setattr(reading, "_TEXTS_KEPT_MAX", kept)
    words = list(enumerate((None, "a", "", "b", "a", None, *ODD, "a")))
    query = select(ALIKE.c.id, ALIKE.c.word)
    database = filled(database_url, words)
    rows = database.ask(lambda session: list(session.every_row(query, ALIKE.c.id)))
    assert [(row.id, row.word) for row in rows] == words


def test_a_batch_that_does_not_fit_into_one_text_is_read_row_by_row(fresh_database, monkeypatch):
    monkeypatch.setattr(reading, "_PACKED_BYTES_MAX", 50)
    database = filled(fresh_database("mariadb"))
    query = select(NUMBERS.c.id, NUMBERS.c.word)
    rows = database.ask(lambda session: list(session.every_row(query, NUMBERS.c.id)))
    assert [row.id for row in rows] == list(range(COUNT))


def test_a_key_may_be_any_column_that_the_server_orders(database_url, monkeypatch):
    """On SQLite, MariaDB and PostgreSQL."""
    monkeypatch.setattr(reading, "BATCH_ROWS", 2)
    engine = sqlalchemy.create_engine(database_url, poolclass=NullPool)
    words = ["b", "B", "a", "_", "Z", "z", "9", "a b"]
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE numbers (id INTEGER, word VARCHAR(9))"))
        for word in words:
            connection.execute(text("INSERT INTO numbers VALUES (1, :word)"), {"word": word})
    database = Database("a cell", database_url)
    query = select(NUMBERS.c.word)
    rows = database.ask(lambda session: list(session.every_row(query, NUMBERS.c.word)))
    assert sorted(row.word for row in rows) == sorted(words)


def test_named_rows_are_asked_for_a_few_at_a_time(fresh_database, monkeypatch):
    monkeypatch.setattr(reading, "KEYS_IN_QUERY", 2)
    database = filled(fresh_database("sqlite"))
    wanted = [3, 4, 5, 99]
    found = database.ask(lambda s: list(s.rows_of(select(NUMBERS.c.id), NUMBERS.c.id, wanted)))
    assert [row.id for row in found] == [3, 4, 5]
    assert database.ask(lambda s: list(s.rows_of(select(NUMBERS.c.id), NUMBERS.c.id, []))) == []


def test_all_questions_see_one_picture(database_url):
    """On SQLite, MariaDB and PostgreSQL: what is written in between is not seen."""
    database = filled(database_url)
    # SQLite's writer waits for our picture to end, and gives up then: nothing is written at all.
    patience = {"timeout": 0.1} if database_url.startswith("sqlite") else {}
    late = sqlalchemy.create_engine(database_url, poolclass=NullPool, connect_args=patience)

    def fetch(session: reading.Session) -> tuple[int, int]:
        before = len(session.rows(select(NUMBERS.c.id)))
        with contextlib.suppress(sqlalchemy.exc.OperationalError), late.begin() as connection:
            connection.execute(text("INSERT INTO numbers VALUES (99, 'w')"))
        return before, len(session.rows(select(NUMBERS.c.id)))

    assert database.ask(fetch) == (COUNT, COUNT)


def test_past_its_time_limit_a_database_is_silent(fresh_database):
    filled(url := fresh_database("sqlite"))
    with pytest.raises(Unreachable) as silent:
        Database("a cell", url, seconds=-1).ask(lambda session: session.rows(select(NUMBERS.c.id)))
    assert silent.value.reason == "it took longer than -1 s"


@pytest.mark.parametrize("kind", ["mysql", "postgresql"])
def test_a_server_that_takes_the_connection_and_says_nothing_is_silent(kind):
    with socket.create_server(("127.0.0.1", 0)) as dumb:
        port = dumb.getsockname()[1]
        database = Database("a cell", f"{kind}://u:p@127.0.0.1:{port}/nova", seconds=1)
        started = time.monotonic()
        with pytest.raises(Unreachable) as silent:
            database.ask(lambda session: session.rows(select(NUMBERS.c.id)))
    assert silent.value.source == "a cell"
    assert f"127.0.0.1:{port}" in silent.value.reason
    assert time.monotonic() - started < reading.CONNECT_SECONDS


@pytest.mark.parametrize("kind", ["mariadb", "mysqldb", "postgresql"])
def test_a_server_that_freezes_between_two_statements_is_silent(kind, fresh_database):
    """Its host accepts what is sent, so only the missing answer shows that nobody works on it."""
    url = make_url(fresh_database(kind))
    with relay_to(url.port or 0) as relay:
        relayed = as_text(url.set(host="127.0.0.1", port=relay.port))

        def fetch(session: reading.Session) -> None:
            session.clock()
            relay.freeze()
            session.clock()

        with pytest.raises(Unreachable) as silent:
            Database("a cell", relayed, seconds=1).ask(fetch)
        assert silent.value.source == "a cell"
        assert str(relay.port) in silent.value.reason
        relay.thaw()


def test_the_extra_of_a_missing_driver_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymysql", None)
    with pytest.raises(DatabaseUnusable, match=r"pip install 'trueup\[mysql\]'"):
        Database("a cell", "mysql+pymysql://a@b/nova")


@pytest.mark.parametrize("url", ["", "not a url", "nosuch://host/nova", "mysql+nosuch://host/nova"])
def test_a_url_that_no_driver_can_open_is_refused(url):
    with pytest.raises(DatabaseUnusable):
        Database("a cell", url)
