# SPDX-License-Identifier: Apache-2.0
"""The columns that a release of Nova has: a missing one is read as NULL, or is an error."""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, TableClause, literal_column

from trueup.reconcile.facts import Unsupported
from trueup.reconcile.sources.database import Session
from trueup.reconcile.sources.errors import Unreachable


class Columns:
    """The columns to select from each table of one database.

    `needed` maps a table to the columns that must exist. A table that is not in `needed` may be
    missing completely.
    """

    def __init__(self, session: Session, source: str, needed: Mapping[str, Iterable[str]]) -> None:
        self._session = session
        self._source = source
        self._needed = needed
        self._lacking: dict[str, Unsupported] = {}

    @property
    def unsupported(self) -> tuple[Unsupported, ...]:
        """The requested tables and columns that do not exist."""
        return tuple(self._lacking.values())

    def has(self, table: TableClause) -> bool:
        """Whether the table can be read. Raises Unreachable when it is missing and needed."""
        if self._session.has_table(table.name):
            return True
        if table.name in self._needed:
            raise Unreachable(self._source, f"no such table: {table.name}")
        self._lacks(table.name, "this release of Nova has no such table")
        return False

    def of(self, table: TableClause) -> list[ColumnElement[Any]]:
        """Every column we know of the table. Raises Unreachable when a needed one is missing."""
        self.has(table)
        there = self._session.columns(table)
        needed = frozenset(self._needed.get(table.name, ()))
        chosen: list[ColumnElement[Any]] = []
        for column in table.columns:
            if column.name in there:
                chosen.append(column)
                continue
            if column.name in needed:
                raise Unreachable(self._source, f"{table.name} has no column {column.name}")
            self._lacks(f"{table.name}.{column.name}", "this release of Nova has no such column")
            chosen.append(literal_column("NULL").label(column.name))
        return chosen

    def _lacks(self, what: str, reason: str) -> None:
        self._lacking[what] = Unsupported(what, reason)
