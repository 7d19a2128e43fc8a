# SPDX-License-Identifier: Apache-2.0
"""The columns that a release of Nova has. Columns of later releases are read as NULL."""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import ColumnElement, TableClause, literal_column

from trueup.reconcile.facts import Unsupported
from trueup.reconcile.sources.database import Session
from trueup.reconcile.sources.errors import Cause, Unreachable


class Columns:
    """The columns to select from each table of one database.

    SAFETY: every table, and every column that `later` does not name, is in every release. If this
    account does not see one, it is hidden or lost; reading it as empty would be false evidence.
    """

    def __init__(self, session: Session, source: str, later: Mapping[str, Collection[str]]) -> None:
        """`later` maps a table to the columns that not every release has."""
        self._session = session
        self._source = source
        self._later = later
        self._lacking: dict[str, Unsupported] = {}

    @property
    def unsupported(self) -> tuple[Unsupported, ...]:
        """The requested columns that this release does not have."""
        return tuple(self._lacking.values())

    def need(self, table: TableClause) -> None:
        """Raises Unreachable if this account does not see the table."""
        if not self._session.has_table(table.name):
            raise Unreachable(self._source, f"no such table: {table.name}", Cause.RIGHTS)

    def of(self, table: TableClause) -> list[ColumnElement[Any]]:
        """Every known column of the table. Raises Unreachable if a needed column is missing.

        MariaDB hides a table that the account may not read; PostgreSQL refuses it by name.
        """
        self.need(table)
        there = self._session.columns(table)
        later = self._later.get(table.name, ())
        chosen: list[ColumnElement[Any]] = []
        for column in table.columns:
            if column.name in there:
                chosen.append(column)
                continue
            if column.name not in later:
                raise Unreachable(self._source, f"{table.name} has no column {column.name}")
            what = f"{table.name}.{column.name}"
            self._lacking[what] = Unsupported(what, "this release of Nova has no such column")
            chosen.append(literal_column("NULL").label(column.name))
        return chosen
