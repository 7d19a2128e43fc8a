# SPDX-License-Identifier: Apache-2.0
from contextlib import closing

import os_resource_classes
import os_traits
from sqlalchemy import delete, inspect, select, update

from trueup.placement.store import schema
from trueup.placement.store.engine.database import Database
from trueup.placement.store.tables import alembic_version, metadata, resource_classes, traits


def test_an_empty_database_gets_tables_and_names(database_url: str) -> None:
    schema.create(database_url)
    with closing(Database(database_url)) as database:
        assert set(inspect(database.engine).get_table_names()) >= set(metadata.tables)
        with database.reading() as tx:
            classes = tx.execute(
                select(resource_classes.c.id, resource_classes.c.name).order_by(
                    resource_classes.c.id
                )
            ).all()
            names = set(tx.scalars(select(traits.c.name)))
            revisions = tx.scalars(select(alembic_version.c.version_num)).all()
    assert [tuple(row) for row in classes] == list(enumerate(os_resource_classes.STANDARDS))
    assert names == set(os_traits.get_traits())
    assert revisions == [schema.NEWEST_REVISION]


def test_only_what_is_missing_is_added(database_url: str) -> None:
    schema.create(database_url)
    with closing(Database(database_url)) as database:
        with database.transaction() as tx:
            tx.execute(delete(resource_classes).where(resource_classes.c.name == "MEMORY_MB"))
            tx.execute(delete(traits).where(traits.c.name == "HW_CPU_X86_AVX"))
        schema.create_tables(database)
        schema.add_standard_names(database)
        with database.reading() as tx:
            query = select(resource_classes.c.id).where(resource_classes.c.name == "MEMORY_MB")
            assert tx.scalar(query) == os_resource_classes.STANDARDS.index("MEMORY_MB")
            assert tx.scalar(select(traits.c.id).where(traits.c.name == "HW_CPU_X86_AVX"))


def test_a_service_starts_where_a_standard_class_has_another_name(database_url: str) -> None:
    """Its id is not free for the standard name, as after an edit by hand."""
    schema.create(database_url)
    first, second = os_resource_classes.STANDARDS[:2]
    with closing(Database(database_url)) as database:
        with database.transaction() as tx:
            renamed = update(resource_classes).where(resource_classes.c.name == first)
            tx.execute(renamed.values(name="CUSTOM_RENAMED"))
            tx.execute(delete(resource_classes).where(resource_classes.c.name == second))
        schema.add_standard_names(database)
        with database.reading() as tx:
            names = tx.scalars(select(resource_classes.c.name).order_by(resource_classes.c.id))
            assert names.all() == ["CUSTOM_RENAMED", *os_resource_classes.STANDARDS[1:]]
