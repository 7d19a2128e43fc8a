# SPDX-License-Identifier: Apache-2.0
"""Placement databases that are emptied and used again.

PERF: making the tables, adding 400 names and dropping it all takes longer than most tests; deleting
the few rows of the test before does not.
"""

import sqlalchemy
from placement.db.sqlalchemy import models
from sqlalchemy import text
from sqlalchemy.pool import NullPool

from tests.servers import upstream

# They keep the names of OpenStack, which each service adds where they are missing.
NAMED = ("traits", "resource_classes")


def make_ready(url: str) -> str:
    """Upstream's tables in an empty database, as its service leaves them after its first start."""
    upstream.create_tables(url)
    upstream.make_app(url, upstream.NOAUTH).close()
    return url


def empty(url: str) -> None:
    """Nothing is left but upstream's tables and the names of OpenStack in them."""
    engine = sqlalchemy.create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        for table in sqlalchemy.inspect(connection).get_table_names():
            if table.startswith("trueup_"):
                connection.execute(text(f"DROP TABLE {table}"))
        # They refer to one another.
        connection.execute(
            text("UPDATE resource_providers SET parent_provider_id = NULL, root_provider_id = NULL")
        )
        for table in reversed(models.BASE.metadata.sorted_tables):
            rows = table.delete()
            if table.name in NAMED:
                rows = rows.where(table.c.name.startswith("CUSTOM_", autoescape=True))
            connection.execute(rows)
