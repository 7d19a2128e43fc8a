# SPDX-License-Identifier: Apache-2.0
"""A new database for Placement: its schema as `db sync` makes it, and a whole ledger in it.

All functions raise UrlUnusable, and DatabaseError if the database cannot be read or written.
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

# Nobody else uses a new database. A server that is silent for longer than this is given up: the
# commit of a large ledger may take a while.
_OPTIONS = DatabaseOptions(lock_wait_seconds=600)


def has_ledger(url: str) -> bool:
    """Whether a database has a ledger; nothing is written. Raises NotOfPlacement."""
    database = open_database(url, _OPTIONS)
    try:
        return is_filled(database)
    finally:
        database.close()


def is_same(one: str, other: str) -> bool:
    """Whether two URLs lead to one database, or to one and a copy of it; nothing is written.

    Both then have a provider with the same id and time of creation. A ledger that was filled anew
    has later times than the one that it replaces.
    """
    return not _marks(one).isdisjoint(_marks(other))


def _marks(url: str) -> frozenset[tuple[object, ...]]:
    database = open_database(url, _OPTIONS)
    try:
        return marks(database)
    finally:
        database.close()


def make_schema(url: str) -> None:
    """Create missing tables, as `trueup-manage db sync` does.

    Raises NotOfPlacement if the present tables prevent that: MariaDB and MySQL keep the tables of a
    command that was killed.
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
        # A service adds these at its start; the ledger needs them before.
        schema.add_standard_names(database)
    finally:
        database.close()


def fill_database(
    url: str, providers: Iterable[FilledProvider], consumers: Iterable[FilledConsumer]
) -> None:
    """Fill a database that has only the schema, in one transaction. Raises LedgerThere."""
    database = open_database(url, _OPTIONS)
    try:
        fill(database, tuple(providers), tuple(consumers))
    finally:
        database.close()
