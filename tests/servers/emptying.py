# SPDX-License-Identifier: Apache-2.0
"""Placement databases that are emptied and used again.

PERF: making the tables, adding 400 names and dropping it all takes longer than most tests; deleting
the few rows of the test before does not.
"""

import sqlalchemy
from sqlalchemy import Connection, Table, text
from sqlalchemy.pool import NullPool

from trueup.placement.store.tables import alembic_version, metadata, providers

# They keep the names of OpenStack, which each service adds where they are missing.
NAMED = ("traits", "resource_classes")
CUSTOM = "CUSTOM_"
# The next row gets the first id that is free, as in a database that was just made.
FIRST_ID = {
    "mysql": "ALTER TABLE {0} AUTO_INCREMENT = 1",
    "postgresql": (
        "SELECT setval(pg_get_serial_sequence('{0}', 'id'), coalesce(max(id), 0) + 1, false)"
        " FROM {0}"
    ),
}


def make_ready(url: str) -> str:
    """Upstream's tables in an empty database, as its service leaves them after its first start."""
    # PERF: it takes a second to import, and most tests need none of it.
    from tests.servers import upstream

    upstream.create_tables(url)
    upstream.make_app(url, upstream.NOAUTH).close()
    return url


def empty(url: str) -> None:
    """Nothing is left but upstream's tables and the names of OpenStack in them."""
    engine = sqlalchemy.create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        for name in sqlalchemy.inspect(connection).get_table_names():
            if name.startswith("trueup_"):
                connection.execute(text(f"DROP TABLE {name}"))
        # Providers refer to one another.
        alone = {"parent_provider_id": None, "root_provider_id": None}
        connection.execute(providers.update().values(alone))
        for table in reversed(metadata.sorted_tables):
            if table is not alembic_version:
                _empty(connection, table)


def _empty(connection: Connection, table: Table) -> None:
    rows = table.delete()
    if table.name in NAMED:
        rows = rows.where(table.c.name.startswith(CUSTOM, autoescape=True))
    connection.execute(rows)
    # Also where the test itself deleted its rows.
    if "id" in table.c and connection.dialect.name in FIRST_ID:
        connection.execute(text(FIRST_ID[connection.dialect.name].format(table.name)))
