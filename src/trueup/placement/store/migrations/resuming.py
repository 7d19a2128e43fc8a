# SPDX-License-Identifier: Apache-2.0
"""Changes of the schema that an upgrade may have made before it was killed.

MySQL commits each of them at once, and the revision only after the last. So the next upgrade finds
some of them made, and continues there.
"""

from typing import Any

from alembic import op
from sqlalchemy import Column, Inspector, inspect


def make_table(name: str, *parts: Any) -> None:
    """Create a table, unless it is there with these columns.

    SAFETY: another table of this name is not ours; the database then refuses to create it.
    """
    wanted = {part.name for part in parts if isinstance(part, Column)}
    if not _found().has_table(name) or columns_of(name) != wanted:
        op.create_table(name, *parts)


def make_index(name: str, table: str, columns: list[str]) -> None:
    """Create an index, unless it is there."""
    if name not in _indexes_of(table):
        op.create_index(name, table, columns)


def drop_index(name: str, table: str) -> None:
    """Drop an index, unless it is gone."""
    if name in _indexes_of(table):
        op.drop_index(name, table_name=table)


def columns_of(table: str) -> set[str]:
    """The names of its columns."""
    return {column["name"] for column in _found().get_columns(table)}


def foreign_keys_of(table: str) -> set[str | None]:
    """The names of its foreign keys."""
    return {key["name"] for key in _found().get_foreign_keys(table)}


def _indexes_of(table: str) -> set[str | None]:
    return {index["name"] for index in _found().get_indexes(table)}


def _found() -> Inspector:
    # A new one each time: it remembers what it has read.
    return inspect(op.get_bind())
