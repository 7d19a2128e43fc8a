# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import event, inspect, select, text
from sqlalchemy.exc import DBAPIError

from trueup.placement.store import own_tables
from trueup.placement.store.engine.database import Database


def test_a_missing_table_of_ours_is_told_from_other_failures(database_url: str) -> None:
    with closing(Database(database_url)) as database:
        for query, expected in (
            (select(own_tables.changes), True),
            (text("SELECT 1 FROM projects"), False),
            (text("SELECT trueup_ FROM"), False),
        ):
            with database.reading() as tx, pytest.raises(DBAPIError) as failed:
                tx.execute(query)
            assert own_tables.is_missing(failed.value) is expected
        assert not own_tables.is_missing(KeyError("trueup_changes"))


def test_existing_tables_are_left_alone(database_url: str) -> None:
    with closing(Database(database_url)) as database:
        for _ in range(2):
            database.add_own_tables()
        assert inspect(database.engine).get_table_names() == [
            "trueup_changes",
            "trueup_locks",
        ]


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_another_process_may_be_first_with_each_of_them(
    kind: str, fresh_database: Callable[[str], str]
) -> None:
    url = fresh_database(kind)
    with closing(Database(url)) as first, closing(Database(url)) as second:

        def be_first(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
            for table in own_tables.OWN.sorted_tables:
                if f"CREATE TABLE {table.name} " in statement:
                    table.create(first.engine)

        event.listen(second.engine, "before_cursor_execute", be_first)
        second.add_own_tables()
        assert set(inspect(first.engine).get_table_names()) == set(own_tables.OWN.tables)


def test_postgresql_keeps_room_beside_each_row(fresh_database: Callable[[str], str]) -> None:
    with closing(Database(fresh_database("postgresql"))) as database:
        database.add_own_tables()
        with database.reading() as tx:
            options = text("SELECT reloptions FROM pg_class WHERE relname = 'trueup_changes'")
            assert tx.scalar(options) == ["fillfactor=25"]
