# SPDX-License-Identifier: Apache-2.0
"""The errors of a lost database, and other errors."""

import re
import sys
from collections.abc import Callable
from contextlib import closing

import pytest
import sqlalchemy
from sqlalchemy.engine import make_url

from tests.servers.databases import as_text
from trueup.placement.store.engine import availability
from trueup.placement.store.engine.database import Database
from trueup.placement.store.engine.sessions import DatabaseOptions


def failure(url: str, statement: str = "SELECT 1") -> Exception:
    database = Database(url, DatabaseOptions(pool_size=1, overflow=0, pool_timeout_seconds=0))
    with pytest.raises(sqlalchemy.exc.SQLAlchemyError) as failed, database.reading() as tx:
        tx.execute(sqlalchemy.text(statement))
    database.close()
    return failed.value


@pytest.mark.parametrize(
    "url",
    [
        "mysql+pymysql://a:b@127.0.0.1:1/c",
        "mysql+pymysql://a:b@nowhere.invalid/c",
        "postgresql://a:b@127.0.0.1:1/c",
        "postgresql://a:b@nowhere.invalid/c",
        "sqlite:////no/such/folder/file.sqlite",
    ],
)
def test_a_server_that_does_not_listen_is_unavailable(url):
    assert availability.is_away(failure(url))


@pytest.mark.parametrize(
    ("url", "module", "command"),
    [
        ("mysql+pymysql://a@b/c", "pymysql", "pip install 'trueup[mysql]'"),
        ("mysql+mysqldb://a@b/c", "pymysql", "pip install 'trueup[mysql]'"),
        ("postgresql+psycopg2://a@b/c", "psycopg", "pip install 'trueup[postgresql]'"),
    ],
)
def test_the_extra_of_a_missing_driver_is_named(url, module, command, monkeypatch):
    monkeypatch.setattr("trueup.placement.store.engine.database._MYSQLCLIENT", "no_such_module")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(availability.UrlUnusable, match=re.escape(command)):
        availability.open_database(url, DatabaseOptions())


def test_no_extra_is_named_for_a_driver_that_trueup_does_not_use():
    with pytest.raises(availability.UrlUnusable, match=r"'cx_Oracle' is not installed$"):
        availability.open_database("oracle+cx_oracle://host/name", DatabaseOptions())


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_a_wrong_password_or_name_is_not_a_lost_database(
    kind: str, fresh_database: Callable[[str], str]
):
    url = make_url(fresh_database(kind))
    assert not availability.is_away(failure(as_text(url.set(password="wrong"))))
    assert not availability.is_away(failure(as_text(url.set(database="nowhere"))))


def test_an_invalid_statement_is_not_a_lost_database(database_url):
    assert not availability.is_away(failure(database_url, "SELECT * FROM nowhere"))
    assert not availability.is_away(ValueError())


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_an_exhausted_pool_is_unavailable(kind, fresh_database):
    options = DatabaseOptions(pool_size=1, overflow=0, pool_timeout_seconds=0)
    database = Database(fresh_database(kind), options)
    with database.reading() as first:
        first.execute(sqlalchemy.text("SELECT 1"))
        with pytest.raises(availability.DatabaseError) as failed, database.reading() as second:
            second.execute(sqlalchemy.text("SELECT 1"))
    database.close()
    assert availability.is_away(failed.value)


def test_answering(database_url):
    database = Database(database_url)
    assert availability.answers(database)
    database.close()
    assert not availability.answers(Database("mysql+pymysql://a:b@127.0.0.1:1/c"))


def test_a_reason_is_one_line():
    error = failure("postgresql://a:b@127.0.0.1:1/c")
    assert "Connection refused" in availability.reason(error)
    assert "\n" not in availability.reason(error)


@pytest.mark.parametrize(
    "url",
    [
        "mysql+pymysql://host/ledger?no_such=1",
        "mysql+pymysql://host/ledger?charset=no_such",
        "mysql+pymysql://host/ledger?ssl_ca=/no/such",
    ],
)
def test_parameters_that_the_driver_refuses_are_an_error_of_the_database(url):
    with closing(Database(url)) as database, pytest.raises(availability.DatabaseError) as raised:
        database.engine.connect()
    assert "no" in availability.reason(raised.value)
    assert not availability.is_away(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "mysql+pymysql+pymysql://host/ledger",
        "mysql+pymysql://host:port/ledger",
        "mysql+pymysql://host",
    ],
)
def test_an_invalid_url_is_unusable(url):
    with pytest.raises(availability.UrlUnusable, match="cannot be used"):
        availability.open_database(url, DatabaseOptions())
