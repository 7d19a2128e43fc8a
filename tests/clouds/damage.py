# SPDX-License-Identifier: Apache-2.0
"""Makes parts of a recorded cloud stop answering."""

import contextlib
from collections.abc import Iterator
from typing import Any

import sqlalchemy
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from tests.clouds.cloud import RecordedCloud
from tests.clouds.loading import map_cell
from tests.servers.databases import as_text
from tests.servers.processes import free_port


def drop_cell(cloud: RecordedCloud, cell: str) -> None:
    """The cell's database is gone; its mapping is still there."""
    change_cell(cloud, cell, f"DROP DATABASE `{make_url(cloud.cell_urls[cell]).database}`")


def change_cell(cloud: RecordedCloud, cell: str, statement: str) -> None:
    """Change rows of a cell by hand; the cloud needs cells of its own for that."""
    if not cloud.own_cells:
        raise ValueError("other tests read these cells: ask for recorded_cloud(…, own_cells=True)")
    execute(cloud.cell_urls[cell], statement)


def rows_of_cell(cloud: RecordedCloud, cell: str, query: str) -> list[Any]:
    """The rows of a cell that a query finds."""
    engine = sqlalchemy.create_engine(cloud.cell_urls[cell], poolclass=NullPool)
    with engine.begin() as connection:
        return list(connection.execute(sqlalchemy.text(query)))


@contextlib.contextmanager
def unreachable_cell(cloud: RecordedCloud, cell: str) -> Iterator[None]:
    """The cell's mapping leads to a port where nobody listens; afterwards it is back."""
    closed = make_url(cloud.cell_urls[cell]).set(port=free_port())
    map_cell(cloud.nova_api_url, cell, as_text(closed))
    try:
        yield
    finally:
        map_cell(cloud.nova_api_url, cell, cloud.cell_urls[cell])


def map_cells_by_template(cloud: RecordedCloud) -> None:
    """The mappings of cell1 and cell2 as templates, to be filled from `[database] connection`."""
    for cell in ("cell1", "cell2"):
        name = make_url(cloud.cell_urls[cell]).database
        template = f"{{scheme}}://{{username}}:{{password}}@{{hostname}}:{{port}}/{name}?{{query}}"
        map_cell(cloud.nova_api_url, cell, template)


def stop_placement(cloud: RecordedCloud) -> None:
    """Placement's port is closed from now on."""
    cloud.placement.stop()


def execute(database_url: str, statement: str) -> None:
    """By hand, as somebody at the database's prompt."""
    engine = sqlalchemy.create_engine(database_url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text(statement))
