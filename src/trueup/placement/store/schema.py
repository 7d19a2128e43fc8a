# SPDX-License-Identifier: Apache-2.0
"""Creates upstream's tables, and adds the standard names to them."""

import os_resource_classes
import os_traits
from sqlalchemy import insert, select

from trueup.model.names import is_custom
from trueup.placement.store.engine.changes import NAMES, note
from trueup.placement.store.engine.database import Database, Transaction, in_transaction
from trueup.placement.store.tables import alembic_version, metadata, resource_classes, traits

NEWEST_REVISION = "a082b8bb98d0"
"""Upstream's alembic revision whose tables these are."""


def create(database_url: str) -> None:
    """Create all tables in an empty database, with the standard classes and traits."""
    database = Database(database_url)
    try:
        create_tables(database)
        add_standard_names(database)
    finally:
        database.close()


def create_tables(database: Database) -> None:
    """Create the missing tables, and stamp their revision if there is none."""
    with database.engine.begin() as connection:
        metadata.create_all(connection)
        if connection.execute(select(alembic_version)).first() is None:
            connection.execute(insert(alembic_version).values(version_num=NEWEST_REVISION))


@in_transaction
def add_standard_names(tx: Transaction) -> None:
    """Add OpenStack's standard resource classes and traits where they are missing."""
    _add_resource_classes(tx)
    _add_traits(tx)


def _add_resource_classes(tx: Transaction) -> None:
    rows = tx.execute(select(resource_classes.c.id, resource_classes.c.name)).all()
    taken, known = {row.id for row in rows}, {row.name for row in rows}
    # The position in this list is the id, in every deployment. PARITY: where a class was renamed by
    # hand, its id is taken, and the standard name stays missing.
    missing = [
        {"id": position, "name": name}
        for position, name in enumerate(os_resource_classes.STANDARDS)
        if name not in known and position not in taken
    ]
    if missing:
        tx.execute(insert(resource_classes), missing)
        note(tx, NAMES)


def _add_traits(tx: Transaction) -> None:
    known = set(tx.scalars(select(traits.c.name)))
    missing = [name for name in os_traits.get_traits() if name not in known and not is_custom(name)]
    if missing:
        tx.execute(insert(traits), [{"name": name} for name in missing])
        note(tx, NAMES)
