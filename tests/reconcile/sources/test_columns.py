# SPDX-License-Identifier: Apache-2.0
"""Columns that a release lacks are absent and named; without a needed one a source is silent."""

import pytest
import sqlalchemy
from sqlalchemy import column, select, table
from sqlalchemy.pool import NullPool

from tests.reconcile.sources.rows import row
from trueup.reconcile.facts import Unsupported
from trueup.reconcile.sources.columns import Columns
from trueup.reconcile.sources.database import Database, Session
from trueup.reconcile.sources.errors import Unreachable

DISKS = table("disks", column("id"), column("size"), column("colour"))


@pytest.fixture
def ask(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.sqlite'}"
    engine = sqlalchemy.create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE disks (id INTEGER, size INTEGER, newer TEXT)")
        connection.exec_driver_sql("INSERT INTO disks VALUES (1, 8, 'x')")
    return Database("a cell", url).ask


def test_a_column_of_a_later_release_is_null_and_named_and_one_we_do_not_know_is_left(ask):
    def fetch(session: Session):
        columns = Columns(session, "a cell", {"disks": ("colour",)})
        return session.rows(select(*columns.of(DISKS))), columns.unsupported

    rows, lacking = ask(fetch)
    assert rows == [row(id=1, size=8, colour=None)]
    assert lacking == (Unsupported("disks.colour", "this release of Nova has no such column"),)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("disks", "disks has no column colour"), ("tapes", "no such table: tapes")],
)
def test_what_every_release_has_and_is_missing_silences_the_source(ask, name, reason):
    wanted = table(name, column("id"), column("colour"))
    with pytest.raises(Unreachable) as silent:
        ask(lambda session: Columns(session, "a cell", {}).of(wanted))
    assert silent.value.source == "a cell"
    assert silent.value.reason.startswith(reason)
