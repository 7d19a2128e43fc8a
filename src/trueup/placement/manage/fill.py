# SPDX-License-Identifier: Apache-2.0
"""A new database for Placement: its schema as `db sync` makes it, and a whole ledger in it.

All of it raises UrlUnusable, and DatabaseError if the database cannot be read or written.
"""

from collections.abc import Iterable

from trueup.placement.store import migrations, schema
from trueup.placement.store.engine.availability import DatabaseError, open_database
from trueup.placement.store.engine.errors import meaning_of
from trueup.placement.store.engine.sessions import DatabaseOptions
from trueup.placement.store.fill import (
    FilledConsumer,
    FilledProvider,
    NotOfPlacement,
    fill,
    is_filled,
    marks,
    tables_in,
)

# A transaction with a whole ledger in it waits for nobody: the database is new.
_OPTIONS = DatabaseOptions(lock_wait_seconds=None)


def has_ledger(url: str) -> bool:
    """Whether a database has a ledger; nothing is written. Raises NotOfPlacement."""
    database = open_database(url, _OPTIONS)
    try:
        return is_filled(database)
    finally:
        database.close()


def is_same(one: str, other: str) -> bool:
    """Whether two URLs lead to one database, or to one and a copy of it; nothing is written.

    Both then have a provider with the same number, made at the same moment. A ledger that was
    filled anew was made later than the one that it replaces.
    """
    return not _marks(one).isdisjoint(_marks(other))


def _marks(url: str) -> frozenset[tuple[object, ...]]:
    database = open_database(url, _OPTIONS)
    try:
        return marks(database)
    finally:
        database.close()


def make_schema(url: str) -> None:
    """Make the tables where they are missing, as `trueup-manage db sync` does.

    Raises NotOfPlacement if they cannot be made beside those that are there: MariaDB and MySQL keep
    what a command had made when it was killed.
    """
    database = open_database(url, _OPTIONS)
    try:
        try:
            migrations.upgrade(database)
        except DatabaseError as error:
            there = tables_in(database)
            if meaning_of(error) is None and there:
                raise NotOfPlacement(there) from error
            raise
        # A service adds these when it starts; here the ledger needs them before.
        schema.add_standard_names(database)
    finally:
        database.close()


def fill_database(
    url: str, providers: Iterable[FilledProvider], consumers: Iterable[FilledConsumer]
) -> None:
    """Fill a database that has the schema and nothing else, whole or not at all.

    Raises LedgerThere.
    """
    database = open_database(url, _OPTIONS)
    try:
        fill(database, tuple(providers), tuple(consumers))
    finally:
        database.close()
