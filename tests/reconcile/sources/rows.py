# SPDX-License-Identifier: Apache-2.0
"""Rows as a database session gives them."""

from sqlalchemy import TableClause

from trueup.reconcile.sources.database import Row, row_type


def row(**columns: object) -> Row:
    """A row with these columns."""
    return row_type(tuple(columns))(*columns.values())


def row_of(table: TableClause, **columns: object) -> Row:
    """A row of a table, of which all other columns are NULL."""
    return row(**dict.fromkeys(column.name for column in table.columns) | columns)
