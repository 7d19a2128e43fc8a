# SPDX-License-Identifier: Apache-2.0
"""Nova's databases as SQLite files in one folder."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, MetaData, NullPool, Table, create_engine, insert

from trueup.lab.nova.api_tables import API_SCHEMA
from trueup.lab.nova.cell_tables import CELL_SCHEMA

Rows = Mapping[Table, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class NovaDatabases:
    """The API database and one database for each cell, in `folder`."""

    folder: Path

    @property
    def api_url(self) -> str:
        """The SQLAlchemy URL of the API database."""
        return sqlite_url(self.folder / "nova_api.sqlite")

    def cell_url(self, cell_name: str) -> str:
        """The SQLAlchemy URL of a cell's database, which its cell mapping also contains."""
        return sqlite_url(self.folder / f"nova_{cell_name}.sqlite")

    def create(self, cell_names: Sequence[str]) -> None:
        """Create the tables of the API database and of each cell's database."""
        _create_tables(self.api_url, API_SCHEMA)
        for cell_name in cell_names:
            _create_tables(self.cell_url(cell_name), CELL_SCHEMA)


def sqlite_url(path: Path) -> str:
    """The SQLAlchemy URL of a SQLite file."""
    return URL.create("sqlite", database=str(path.absolute())).render_as_string()


@contextmanager
def transaction(url: str) -> Iterator[Connection]:
    """One transaction: committed at the end of the block, rolled back after an exception."""
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        yield connection


def fill(url: str, rows: Rows) -> None:
    """Insert rows of many tables in one transaction. All rows of a table have the same columns."""
    with transaction(url) as connection:
        for table, of_table in rows.items():
            if of_table:
                connection.execute(insert(table), list(of_table))


def _create_tables(url: str, schema: MetaData) -> None:
    with transaction(url) as connection:
        schema.create_all(connection)
