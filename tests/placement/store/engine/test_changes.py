# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from sqlalchemy import delete, event, func, insert, select, text, update
from sqlalchemy.engine.interfaces import ExceptionContext
from sqlalchemy.exc import DBAPIError

from trueup.placement.store import migrations
from trueup.placement.store.engine import changes
from trueup.placement.store.engine.changes import Changed, Vector
from trueup.placement.store.engine.database import Database, Transaction, in_transaction
from trueup.placement.store.engine.sessions import DatabaseOptions
from trueup.placement.store.own_tables import RECENT_LENGTH_MAX
from trueup.placement.store.own_tables import changes as rows

DO_NOT_WAIT = {
    "mariadb": "SET SESSION innodb_lock_wait_timeout = 0",
    "postgresql": "SET SESSION lock_timeout = '20ms'",
}

IMPATIENT = DatabaseOptions(lock_wait_seconds=1)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url)) as database:
        migrations.attach(database)
        yield database


@pytest.fixture
def on_sqlite(fresh_database: Callable[[str], str]) -> Iterator[Database]:
    with closing(Database(fresh_database("sqlite"))) as database:
        migrations.attach(database)
        yield database


@in_transaction
def write(tx: Transaction, *words: str) -> None:
    for word in words:
        changes.note(tx, word)


def fail_to_publish(database: Database, do_not_wait: str, word: str, times: int) -> None:
    """Transactions that end because somebody else has locked the row of the writer."""
    with database.engine.begin() as holder:
        holder.execute(select(rows).with_for_update())
        for _ in range(times):
            with pytest.raises(DBAPIError):
                write_at_once(database, do_not_wait, word)


def write_at_once(database: Database, do_not_wait: str, word: str) -> None:
    with database.transaction() as tx:
        tx.execute(text(do_not_wait))
        changes.note(tx, word)


def vector(database: Database) -> Vector:
    with database.reading() as tx:
        found = changes.vector(tx)
        assert changes.clock(tx) == changes.clock_of(found)
    return found


def since(database: Database, known: Vector) -> Changed:
    with database.reading() as tx:
        found = changes.news(tx, known)
        assert found.vector == changes.vector(tx)
    return found.changed


def test_published_changes_are_read_once_by_each_reader(database: Database) -> None:
    nothing = vector(database)
    write(database, "u1", "u2", "p7")
    known = vector(database)
    write(database, "u2", "n")
    assert since(database, known) == Changed(usage_of=frozenset({2}), names=True)
    assert since(database, nothing) == Changed(
        usage_of=frozenset({1, 2}), providers=frozenset({7}), names=True
    )
    assert since(database, vector(database)) == Changed()


def test_a_transaction_that_notes_nothing_writes_nothing(database: Database) -> None:
    known = vector(database)
    write(database)
    assert vector(database) == known


def test_concurrent_transactions_have_different_numbers(database: Database) -> None:
    """The one that began first ends last, and is not missed."""
    if database.is_sqlite:
        return  # One writer at a time.
    before = vector(database)
    with database.transaction() as first:
        changes.note(first, "u1")
        write(database, "u2")
        known = vector(database)
        assert since(database, before) == Changed(usage_of=frozenset({2}))
    assert since(database, known) == Changed(usage_of=frozenset({1}))
    write(database, "u3")
    assert since(database, known) == Changed(usage_of=frozenset({1, 3}))


def test_changes_that_are_rolled_back_are_never_published(database: Database) -> None:
    write(database, "u1")
    known = vector(database)

    @in_transaction
    def fail(tx: Transaction) -> None:
        changes.note(tx, "u2")
        raise KeyError

    with pytest.raises(KeyError):
        fail(database)
    assert (since(database, known), vector(database)) == (Changed(), known)
    write(database, "u3")
    assert since(database, known) == Changed(usage_of=frozenset({3}))


def test_writers_are_used_again(database: Database) -> None:
    nobody = vector(database)
    for _ in range(5):
        write(database, "u1")
    assert len(vector(database)) == len(nobody) + 1


@pytest.mark.parametrize("kind", DO_NOT_WAIT)
def test_a_writer_that_could_not_publish_is_used_again(
    kind: str, fresh_database: Callable[[str], str]
) -> None:
    """Otherwise each conflict would leave an unused row."""
    with closing(Database(fresh_database(kind))) as database:
        migrations.attach(database)
        nobody = vector(database)
        write(database, "u1")
        known = vector(database)
        fail_to_publish(database, DO_NOT_WAIT[kind], "u2", times=3)
        write(database, "u3")
        assert len(vector(database)) == len(nobody) + 1
        assert 3 in since(database, known).usage_of


def test_a_row_keeps_only_the_latest(on_sqlite: Database) -> None:
    database = on_sqlite
    write(database, "u0")
    early = vector(database)
    for number in range(1, 400):
        write(database, f"u{number}")
    with database.reading() as tx:
        longest = tx.scalar(select(func.max(func.length(rows.c.recent))))
    assert longest <= RECENT_LENGTH_MAX
    late = vector(database)
    write(database, "p400")
    write(database, "u401")
    assert since(database, late) == Changed(usage_of=frozenset({401}), providers=frozenset({400}))
    # All of usage would do, had it not been for p400.
    assert since(database, early).everything


def test_after_missed_claims_only_usage_is_read_completely(on_sqlite: Database) -> None:
    database = on_sqlite
    write(database, "p1")
    known = vector(database)
    for number in range(400):
        write(database, f"u{number}")
    assert since(database, known) == Changed(all_usage=True)
    assert since(database, {}).everything


@pytest.mark.parametrize(("kind", "expected"), [("u", "all_usage"), ("p", "everything")])
def test_a_change_of_very_many_providers_counts_as_a_change_of_all(
    on_sqlite: Database, kind: str, expected: str
) -> None:
    known = vector(on_sqlite)
    write(on_sqlite, *(f"{kind}{number}" for number in range(1000)))
    assert since(on_sqlite, known) == Changed(**{expected: True})


def test_after_a_row_vanished_the_view_is_loaded_again(database: Database) -> None:
    before = vector(database)
    write(database, "u1")
    known = vector(database)
    with database.transaction() as tx:
        tx.execute(delete(rows).where(rows.c.writer.not_in(before)))
    assert vector(database) == before
    assert since(database, known).everything
    write(database, "u2")
    # The new row has another writer, so no reader takes it for the old one.
    assert since(database, known).everything
    assert since(database, before) == Changed(usage_of=frozenset({2}))


def test_numbers_that_the_database_lost_are_not_used_again(database: Database) -> None:
    nobody = vector(database)
    write(database, "u1")
    ((writer, number),) = vector(database).items() - nobody.items()
    write(database, "u2")
    known = vector(database)
    with database.engine.begin() as connection:
        connection.execute(update(rows).where(rows.c.writer == writer).values(sequence=number))
    write(database, "u3")
    assert vector(database)[writer] == number
    assert since(database, known).everything


def grow_old(database: Database, but_for: Vector) -> None:
    """Let an hour pass for the writers that these do not name."""
    with database.engine.begin() as connection:
        connection.execute(update(rows).where(rows.c.writer.not_in(but_for)).values(touched_at=0))


def write_by_another(database: Database, word: str) -> None:
    """As another process would."""
    url = database.engine.url.render_as_string(hide_password=False)
    with closing(Database(url)) as other:
        write(other, word)


def test_unused_rows_go_when_a_new_one_comes(database: Database) -> None:
    before = vector(database)
    for number in range(20):
        write_by_another(database, f"u{number}")
    early = vector(database)
    assert len(early) == len(before) + 20
    grow_old(database, but_for=before)
    write_by_another(database, "u50")
    known = vector(database)
    assert len(known) < len(early) - 10
    # A reader that knows all changes of the forgotten writers need not start from nothing.
    assert since(database, early) == Changed(usage_of=frozenset({50}))
    assert since(database, before | {123: 4}).everything


@pytest.mark.parametrize("kind", DO_NOT_WAIT)
def test_nobody_waits_for_a_transaction_that_has_published(
    kind: str, fresh_database: Callable[[str], str]
) -> None:
    """Its worker stands still before the COMMIT, or the server takes long for that."""
    url = fresh_database(kind)
    errors: list[ExceptionContext] = []
    with closing(Database(url)) as slow, closing(Database(url, IMPATIENT)) as other:
        migrations.attach(slow)
        nobody = vector(slow)
        write(slow, "u1")
        [writer] = vector(slow).keys() - nobody.keys()
        event.listen(other.engine, "handle_error", errors.append)
        with slow.engine.begin() as holder:
            holder.execute(update(rows).where(rows.c.writer == writer).values(touched_at=1))
            migrations.attach(other)
            write(other, "u2")
    assert errors == []


def test_rows_that_cannot_be_removed_now_stay(fresh_database: Callable[[str], str]) -> None:
    one_connection = DatabaseOptions(pool_size=1, overflow=0, pool_timeout_seconds=1)
    with closing(Database(fresh_database("postgresql"), one_connection)) as database:
        migrations.attach(database)
        with database.engine.connect():
            database.forget_unused_writers(changes.forget_unused)


def test_a_reader_that_missed_a_forgotten_writer_starts_from_nothing(database: Database) -> None:
    before = vector(database)
    write_by_another(database, "u1")
    known = vector(database)
    [writer] = known.keys() - before.keys()
    grow_old(database, but_for=before)
    migrations.attach(database)
    assert since(database, known) == Changed()
    assert since(database, known | {writer: known[writer] - 1}).everything


def test_a_database_that_lost_changes_means_to_start_from_nothing(database: Database) -> None:
    """It was restored, or a replica that lagged took over."""
    write(database, "u1")
    known = vector(database)
    with database.engine.begin() as connection:
        connection.execute(update(rows).values(sequence=rows.c.sequence - 1))
    assert since(database, known).everything


def test_very_many_rows_that_are_unused_go_at_the_next_start(on_sqlite: Database) -> None:
    before = vector(on_sqlite)
    numbers = dict.fromkeys(("first", "sequence", "reaches", "shaped", "touched_at"), 1)
    with on_sqlite.engine.begin() as connection:
        many = [{"writer": number, "recent": "", **numbers} for number in range(1000)]
        connection.execute(insert(rows), many)
    known = vector(on_sqlite)
    migrations.attach(on_sqlite)
    assert len(vector(on_sqlite)) == len(before) + 1
    assert since(on_sqlite, known).everything


def test_writers_whose_tables_were_dropped_make_them_again(database: Database) -> None:
    write(database, "u1")
    known = vector(database)
    migrations.detach(database)
    write(database, "u2")
    assert since(database, known).everything


def test_a_forked_process_has_its_own_writers(
    on_sqlite: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = vector(on_sqlite)
    write(on_sqlite, "u1")
    monkeypatch.setattr("os.getpid", lambda: -1)
    write(on_sqlite, "u2")
    assert len(vector(on_sqlite)) == len(nobody) + 2
