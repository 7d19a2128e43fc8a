# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import Update, bindparam, case, delete, event, func, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from trueup.placement.store.engine.database import Database, Transaction
from trueup.placement.store.engine.statements import (
    FixedStatement,
    ListStatement,
    RowsStatement,
    filled,
    inserting,
    place,
    places,
)
from trueup.placement.store.tables import consumers, projects, users

NAMES = ("one", "two", "three's %s", "four\n")


@pytest.fixture
def database(ledger_url: str) -> Iterator[Database]:
    with closing(Database(ledger_url)) as database:
        with database.transaction() as tx:
            tx.execute(insert(projects), [{"external_id": name} for name in NAMES])
        yield database


def names(database: Database) -> list[str]:
    with database.reading() as tx:
        return list(tx.scalars(select(projects.c.external_id).order_by(projects.c.id)))


# SQLAlchemy's own execution of a statement is the oracle.


@pytest.mark.parametrize(
    ("query", "values"),
    [
        (select(projects.c.id, projects.c.external_id), {}),
        (select(projects.c.external_id).where(projects.c.external_id == "one"), {}),
        (select(projects.c.id).where(projects.c.external_id == bindparam("name")), {"name": "two"}),
        (
            select(projects.c.id).where(projects.c.external_id == bindparam("name")),
            {"name": "three's %s"},
        ),
        (select(projects.c.id % bindparam("by") + 7), {"by": 3}),
        (select(func.aggregate_strings(projects.c.external_id, "%;\n")), {}),
        (select(func.coalesce(bindparam("given", type_=projects.c.id.type), 7)), {"given": None}),
        (select(projects.c.id).where(projects.c.id < 0), {}),
    ],
)
def test_the_rows_are_those_that_sqlalchemy_reads(
    database: Database, query: Any, values: dict[str, Any]
) -> None:
    fixed = FixedStatement(query)
    with database.reading() as tx:
        expected = [tuple(row) for row in tx.execute(query, values)]
    for snapshot in (False, True):
        with database.reading(snapshot=snapshot) as tx:
            assert [tuple(row) for row in fixed.send(tx, values).rows] == expected


def test_what_is_written_is_counted_and_has_its_times(database: Database) -> None:
    added = inserting(consumers, "uuid", "project_id", "user_id", "generation")
    raised = FixedStatement(
        update(consumers)
        .where(consumers.c.project_id == bindparam("project"))
        .values(generation=consumers.c.generation + 1)
    )
    row = {"project_id": 1, "user_id": 1}
    with database.transaction() as tx:
        added.send(tx, [])
        added.send(tx, [{"uuid": "a", "generation": 5, **row}])
        added.send(tx, [{"uuid": "b", "generation": 6, **row}])
        added.send(tx, [{"uuid": uuid, "generation": 7, **row} for uuid in "cd"])
        assert raised.send(tx, {"project": 1}).row_count == 4
        assert raised.send(tx, {"project": 2}).row_count == 0
    with database.reading() as tx:
        found = tx.execute(select(consumers).order_by(consumers.c.uuid)).all()
        assert [(row.uuid, row.generation) for row in found] == [
            *(("a", 6), ("b", 7), ("c", 8), ("d", 8)),
        ]
        assert all(row.created_at and row.updated_at for row in found)


@pytest.mark.parametrize("count", [*range(6), 1025])
def test_a_list_may_have_any_length(database: Database, count: int) -> None:
    wanted = [*NAMES, *(f"nobody {number}" for number in range(1025))][:count]
    name = projects.c.external_id
    found = ListStatement("names", lambda names: select(name).where(name.in_(names)))
    gone = ListStatement("names", lambda names: delete(projects).where(name.in_(names)))
    with database.transaction() as tx:
        rows = found.send(tx, {"names": wanted}).rows
        assert {name for (name,) in rows} == {*wanted} & {*NAMES}
        assert gone.send(tx, {"names": wanted}).row_count == len(rows)
    assert names(database) == [name for name in NAMES if name not in wanted]


def test_a_list_may_be_longer_than_postgresql_counts(database: Database) -> None:
    # SQLite has a limit of its own, which a build may set.
    length = 2**10 if database.engine.dialect.name == "sqlite" else 2**16
    wanted = [*NAMES, *(f"nobody's % {number}" for number in range(length))]
    name = projects.c.external_id
    query = select(name).where(projects.c.id < bindparam("below"))
    found = ListStatement("names", lambda names: query.where(name.in_(names)))
    fixed = FixedStatement(query.where(name.in_(places("names", len(wanted)))))
    with database.reading() as tx:
        rows = found.send(tx, {"names": wanted, "below": 3}).rows
        assert {name for (name,) in rows} == {"one", "two"}
        assert [*fixed.send(tx, filled("names", wanted) | {"below": 3}).rows] == [*rows]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 64, 65, 200])
def test_there_may_be_any_number_of_rows(database: Database, count: int) -> None:
    added = inserting(users, "external_id")
    external_id = users.c.external_id

    def rename(count: int) -> Update:
        pairs = [(place(users.c.id, number), place(external_id, number)) for number in range(count)]
        new_name = case(*pairs, value=users.c.id)
        return (
            update(users)
            .where(users.c.id.in_([key for key, _ in pairs]))
            .values(external_id=new_name)
        )

    with database.transaction() as tx:
        added.send(tx, [{"external_id": f"old {number}"} for number in range(count)])
        found = tx.execute(select(users.c.id, external_id, users.c.created_at)).all()
        assert sorted(row.external_id for row in found) == sorted(
            f"old {number}" for number in range(count)
        )
        assert all(row.created_at for row in found)
        new = {row.id: row.external_id.replace("old", "new") for row in found}
        renamed = [{"id": key, "external_id": name} for key, name in new.items()]
        RowsStatement(rename).send(tx, renamed)
    with database.reading() as tx:
        assert {row.id: row.external_id for row in tx.execute(select(users))} == new


@pytest.mark.parametrize("values", [[], [1], [1, 2], [1, 2, 3], list(range(1000)), [0] * 1025])
def test_the_places_of_a_list_are_few_kinds(values: Sequence[int]) -> None:
    given = filled("n", values)
    assert list(given) == [place.key for place in places("n", len(given))]
    assert {*given.values()} == ({*values} or {None})
    assert len(given) in {1, 2, 4, 1024, 1025}


def test_an_error_is_the_one_that_sqlalchemy_raises(database: Database) -> None:
    added = FixedStatement(insert(projects).values(external_id=bindparam("external_id")))

    def add(send: Callable[[Transaction, Any], object]) -> None:
        with database.transaction() as tx:
            send(tx, {"external_id": "new"})
            send(tx, {"external_id": "one"})

    with pytest.raises(IntegrityError) as ours:
        add(added.send)
    with pytest.raises(IntegrityError) as theirs:
        add(lambda tx, values: tx.execute(insert(projects), values))
    # psycopg gets numbered placeholders from Trueup, and named ones from SQLAlchemy.
    assert (
        str(ours.value.statement).split("VALUES")[0]
        == (str(theirs.value.statement).split("VALUES")[0])
    )
    assert type(ours.value.orig) is type(theirs.value.orig)
    assert not ours.value.connection_invalidated
    assert names(database) == list(NAMES)


@pytest.mark.parametrize(
    ("kind", "key", "kill"),
    [
        ("mariadb", func.connection_id(), "KILL %s"),
        ("mysqldb", func.connection_id(), "KILL %s"),
        ("postgresql", func.pg_backend_pid(), "SELECT pg_terminate_backend(%s)"),
    ],
    ids=("mariadb", "mysqldb", "postgresql"),
)
def test_a_lost_connection_is_given_up(
    fresh_database: Callable[[str], str], kind: str, key: Any, kill: str
) -> None:
    """Idle ones too: after a restart of the server all of them are lost."""
    mine = FixedStatement(select(key))

    def key_of(tx: Transaction) -> int:
        return int(mine.send(tx).rows[0][0])

    with closing(Database(fresh_database(kind))) as database:
        with database.transaction() as one, database.transaction() as other:
            before = {key_of(one), key_of(other)}

        def lose() -> None:
            with database.transaction() as tx, database.transaction() as killer:
                killer.exec_driver_sql(kill, (key_of(tx),))
                mine.send(tx)

        with pytest.raises(DBAPIError) as raised:
            lose()
        assert raised.value.connection_invalidated
        with database.transaction() as tx:
            assert key_of(tx) not in before


def test_listeners_are_told_what_is_sent(database: Database) -> None:
    told: list[tuple[str, bool]] = []

    @event.listens_for(database.engine, "before_cursor_execute")
    def note(_tx: Any, _cursor: Any, sql: str, _values: Any, _context: Any, is_many: bool) -> None:
        told.append((sql.split()[0], is_many))

    with database.transaction() as tx:
        FixedStatement(select(projects.c.id)).send(tx)
        inserting(projects, "external_id").send(tx, [{"external_id": name} for name in "ab"])
        tx.execute(insert(projects), [{"external_id": name} for name in "cd"])
        ListStatement("ids", lambda ids: select(projects).where(projects.c.id.in_(ids))).send(
            tx, {"ids": []}
        )
    assert [statement for statement in told if statement[0] != "BEGIN"] == [
        *(("SELECT", False), ("INSERT", False), ("INSERT", True)),
    ]


def test_no_transaction_stays_open(database: Database) -> None:
    counted = FixedStatement(select(func.count()).select_from(projects))
    # A driver begins one by itself; SQLAlchemy ends only its own.
    with database.engine.connect() as connection:
        counted.send(connection)
        assert connection.in_transaction()


def test_columns_that_sqlalchemy_must_convert_are_refused() -> None:
    times = FixedStatement(select(projects.c.created_at))
    refused = pytest.raises(TypeError, match=r"convert the values of projects\.created_at")
    with closing(Database("sqlite://")) as database, database.reading() as tx, refused:
        times.send(tx)
