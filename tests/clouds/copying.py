# SPDX-License-Identifier: Apache-2.0
"""Copies the databases of a recorded cloud, which are MariaDB's, to PostgreSQL, with the tables
that Nova's and Placement's own models make there."""

import contextlib
from collections.abc import Iterator, Mapping

import sqlalchemy
from nova.db.api import models as api_models
from nova.db.main import models as cell_models
from placement.db.sqlalchemy import models as placement_models
from sqlalchemy.pool import NullPool

from tests.clouds.cloud import RecordedCloud
from tests.servers.databases import DatabaseServer


@contextlib.contextmanager
def copied(cloud: RecordedCloud, server: DatabaseServer) -> Iterator[Mapping[str, str]]:
    """The URLs of the copies: `nova_api`, `placement`, and those of the cells by their names."""
    models = {
        "nova_api": (cloud.nova_api_url, api_models.BASE.metadata),
        "placement": (cloud.placement_database_url, placement_models.BASE.metadata),
        **{cell: (url, _of_a_cell()) for cell, url in cloud.cell_urls.items()},
    }
    with contextlib.ExitStack() as dropped_at_the_end:
        urls = {}
        for name, (source, tables) in models.items():
            urls[name] = dropped_at_the_end.enter_context(server.empty_database())
            _copy(source, urls[name], tables)
        yield urls


def _of_a_cell() -> sqlalchemy.MetaData:
    """Nova's models do not have the tables of archived rows, which are like the others."""
    tables = sqlalchemy.MetaData()
    for table in cell_models.BASE.metadata.sorted_tables:
        table.to_metadata(tables)
    for name in ("instances", "migrations"):
        columns = [
            sqlalchemy.Column(one.name, one.type, primary_key=one.primary_key)
            for one in cell_models.BASE.metadata.tables[name].columns
        ]
        sqlalchemy.Table(f"shadow_{name}", tables, *columns)
    return tables


def _copy(source: str, target: str, tables: sqlalchemy.MetaData) -> None:
    reading = sqlalchemy.create_engine(source, poolclass=NullPool)
    writing = sqlalchemy.create_engine(target, poolclass=NullPool)
    with reading.connect() as old, writing.begin() as new:
        tables.create_all(new)
        # Rows are copied as they are, whatever refers to what.
        new.execute(sqlalchemy.text("SET session_replication_role = replica"))
        for table in tables.sorted_tables:
            rows = [dict(row) for row in old.execute(sqlalchemy.select(table)).mappings()]
            if rows:
                new.execute(sqlalchemy.insert(table), rows)
