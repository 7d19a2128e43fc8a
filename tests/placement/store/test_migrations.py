# SPDX-License-Identifier: Apache-2.0
"""Each revision of the schema, compared with upstream's."""

import contextlib
import functools
import itertools
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy

from tests.deployment.schemas import rows_of, schema_of, upstream_command
from tests.servers import upstream
from trueup.placement.store import migrations, own_tables, schema
from trueup.placement.store.engine.availability import DatabaseError, reason
from trueup.placement.store.engine.database import Database
from trueup.placement.store.engine.errors import Meaning, meaning_of

REVISIONS = ("b4ed3a175331", "611cd6dffd7b", "b5c396305c25", "422ece571366", "a082b8bb98d0")
KINDS = ("sqlite", "mariadb", "postgresql")
TAKEN = {
    "mariadb": "SELECT GET_LOCK(CONCAT('trueup ', SHA2(DATABASE(), 224)), 0)",
    "postgresql": "SELECT pg_advisory_lock(500136502645)",
}
"""How another process takes the lock that belongs to whoever changes the schema."""
HELD = "allocations (resource_provider_id, consumer_id, resource_class_id, used) VALUES (1,'c',0,1)"


@pytest.fixture
def opened() -> Iterator[Callable[[str], Database]]:
    databases: list[Database] = []

    def open_database(url: str) -> Database:
        databases.append(Database(url))
        return databases[-1]

    yield open_database
    for database in databases:
        database.close()


@pytest.fixture(scope="module")
def of_upstream(tmp_path_factory, request) -> Callable[[str], tuple]:
    """Upstream's newest schema and its rows on a kind of database, as its own command makes it."""

    @functools.cache
    def made(kind: str) -> tuple:
        if kind == "sqlite":
            return look(f"sqlite:///{tmp_path_factory.mktemp('upstream') / 'newest.sqlite'}")
        with request.getfixturevalue(f"{kind}_server").empty_database() as url:
            return look(url)

    def look(url: str) -> tuple:
        done = upstream_command("placement-manage", url, "db", "sync")
        assert done.returncode == 0, done.stderr
        return schema_of(url), rows_of(url)

    return made


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_database_gets_upstreams_newest_schema(kind, fresh_database, opened, of_upstream):
    url = fresh_database(kind)
    migrations.upgrade(opened(url))
    assert (schema_of(url), rows_of(url)) == of_upstream(kind)
    assert migrations.revision(opened(url)) == REVISIONS[-1] == schema.NEWEST_REVISION


@pytest.mark.parametrize("kind", KINDS)
def test_tables_made_at_once_are_those_of_the_newest_revision(
    kind, fresh_database, opened, of_upstream
):
    url = fresh_database(kind)
    schema.create_tables(opened(url))
    assert (schema_of(url), rows_of(url)) == of_upstream(kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("revision", [REVISIONS[0], REVISIONS[3]])
def test_an_older_database_of_upstreams_is_upgraded(
    kind, revision, fresh_database, opened, of_upstream
):
    url = fresh_database(kind)
    upstream.upgrade(url, revision)
    migrations.upgrade(opened(url))
    assert (schema_of(url), rows_of(url)) == of_upstream(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_database_at_the_newest_revision_is_adopted_as_it_is(kind, fresh_database, opened):
    url = fresh_database(kind)
    upstream.upgrade(url, "head")
    before = schema_of(url), rows_of(url)
    migrations.upgrade(opened(url))
    assert (schema_of(url), rows_of(url)) == before


def test_rows_of_an_older_revision_are_kept(database_url, opened):
    upstream.upgrade(database_url, REVISIONS[2])
    database = opened(database_url)
    with database.engine.begin() as connection:
        insert = "INSERT INTO consumers (uuid, project_id, user_id, generation) VALUES "
        connection.exec_driver_sql(f"{insert} ('one', 1, 2, 3), ('two', 1, 2, 4)")
    migrations.upgrade(database)
    query = "SELECT uuid, project_id, user_id, generation, consumer_type_id FROM consumers"
    with database.engine.connect() as connection:
        found = connection.exec_driver_sql(f"{query} ORDER BY generation").all()
    assert list(map(tuple, found)) == [("one", 1, 2, 3, None), ("two", 1, 2, 4, None)]


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("INSERT INTO resource_providers (uuid, name) VALUES ('p', 'p')", "root provider id"),
        (f"INSERT INTO {HELD}", "missing a consumer record"),
    ],
)
def test_rows_that_a_revision_cannot_live_with_stop_it(database_url, opened, statement, words):
    upstream.upgrade(database_url, REVISIONS[0])
    database = opened(database_url)
    with database.engine.begin() as connection:
        connection.exec_driver_sql(statement)
    rows = rows_of(database_url, without=("alembic_version",))
    with pytest.raises(migrations.RowsInTheWay, match=words) as stopped:
        migrations.upgrade(database)
    assert 'Run the "placement-manage db online_data_migrations" command.' in str(stopped.value)
    assert rows_of(database_url, without=("alembic_version",)) == rows
    assert migrations.revision(database) in REVISIONS[:2]


class Killed(Exception):
    """The process ended."""


def killed_after(changes: int, database: Database) -> None:
    """Upgrade; the process is killed after so many changes of the schema. Raises Killed."""
    left = changes

    def count(_tx: object, _cursor: object, sql: str, *_more: object) -> None:
        nonlocal left
        left -= sql.lstrip().startswith(("CREATE", "ALTER", "DROP"))
        if left == 0:
            raise Killed

    sqlalchemy.event.listen(database.engine, "after_cursor_execute", count)
    migrations.upgrade(database)


@pytest.mark.parametrize("kind", KINDS)
def test_an_upgrade_that_is_killed_after_any_change_is_continued(
    kind, fresh_database, opened, of_upstream
):
    url = fresh_database(kind)
    for changes in itertools.count(1):
        with contextlib.suppress(Killed):
            killed_after(changes, opened(url))
            break
    assert changes > len(REVISIONS)
    assert (schema_of(url), rows_of(url)) == of_upstream(kind)


@pytest.mark.parametrize("table", ["users", "consumer_types"])
def test_a_table_of_another_service_is_not_taken_for_ours(table, database_url, opened):
    database = opened(database_url)
    with database.engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE {table} (id INTEGER, mail INTEGER)")
    with pytest.raises(DatabaseError, match="already exists"):
        migrations.upgrade(database)


@pytest.mark.parametrize("kind", KINDS)
def test_several_that_start_at_once_upgrade_once(kind, fresh_database, opened):
    url = fresh_database(kind)
    databases = [opened(url) for _ in range(8)]
    with ThreadPoolExecutor(len(databases)) as workers:
        list(workers.map(migrations.upgrade, databases))
    assert migrations.revision(databases[0]) == REVISIONS[-1]


@pytest.mark.parametrize("kind", TAKEN)
def test_an_upgrade_that_waits_too_long_changes_nothing(kind, fresh_database, opened, monkeypatch):
    monkeypatch.setattr(migrations, "_LOCK_SECONDS_MAX", 1)
    url = fresh_database(kind)
    others = sqlalchemy.create_engine(opened(url).engine.url)
    with others.connect() as other:
        other.exec_driver_sql(TAKEN[kind])
        with pytest.raises(DatabaseError) as raised:
            migrations.upgrade(opened(url))
    others.dispose()
    assert meaning_of(raised.value) is Meaning.LOCKED
    assert "1 s" in reason(raised.value) or kind == "postgresql"
    migrations.upgrade(opened(url))


def test_tables_of_our_own_are_added_and_dropped(database_url, opened, monkeypatch):
    own = sqlalchemy.MetaData()
    sqlalchemy.Table("trueup_sample", own, sqlalchemy.Column("id", sqlalchemy.Integer))
    database = opened(database_url)
    schema.create_tables(database)
    before = schema_of(database_url)
    for module in (migrations, own_tables):
        monkeypatch.setattr(module, "OWN", own)
    migrations.attach(database)
    migrations.attach(database)
    assert "trueup_sample" in sqlalchemy.inspect(database.engine).get_table_names()
    migrations.detach(database)
    migrations.upgrade(database)
    assert "trueup_sample" in sqlalchemy.inspect(database.engine).get_table_names()
    assert "trueup_sample" in migrations.detach(database)
    assert not [
        name
        for name in sqlalchemy.inspect(database.engine).get_table_names()
        if name.startswith(migrations.PREFIX)
    ]
    assert schema_of(database_url) == before
    assert migrations.detach(database) == []


def test_stamping_changes_nothing_but_the_revision(fresh_database, opened):
    url = fresh_database("sqlite")
    database = opened(url)
    assert migrations.revision(database) is None
    schema.create_tables(database)
    before = schema_of(url)
    migrations.stamp(database, REVISIONS[3])
    assert migrations.revision(database) == REVISIONS[3]
    assert schema_of(url) == before


@pytest.mark.parametrize(
    "change", [migrations.detach, functools.partial(migrations.stamp, version=REVISIONS[3])]
)
def test_a_service_that_writes_to_sqlite_meanwhile_does_not_disturb(
    change: Callable[[Database], object], fresh_database, opened
) -> None:
    """SQLite refuses a transaction at once that reads first, while another one writes."""
    database = opened(fresh_database("sqlite"))
    migrations.upgrade(database)

    def write(*_: object) -> None:
        with (
            contextlib.closing(sqlite3.connect(database.engine.url.database, timeout=0)) as other,
            contextlib.suppress(sqlite3.OperationalError),
        ):
            other.execute("INSERT INTO projects (external_id) VALUES (hex(randomblob(9)))")
            other.commit()

    sqlalchemy.event.listen(database.engine, "after_cursor_execute", write)
    change(database)


def test_an_unknown_revision_is_refused(fresh_database, opened):
    database = opened(fresh_database("sqlite"))
    with pytest.raises(migrations.UnknownRevision, match="nowhere"):
        migrations.stamp(database, "nowhere")
    migrations.upgrade(database)
    with database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = 'ffffffffffff'")
    with pytest.raises(migrations.UnknownRevision, match="ffffffffffff, which this release"):
        migrations.upgrade(database)
