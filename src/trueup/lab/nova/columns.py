# SPDX-License-Identifier: Apache-2.0
"""Columns that many of Nova's tables share, in one word each."""

from typing import Any

from sqlalchemy import Boolean, Column, DateTime, Integer, String, Text


def identity() -> Column[Any]:
    """The integer primary key, `id`."""
    return Column("id", Integer, primary_key=True, autoincrement=True)


def string(name: str, length: int = 255) -> Column[Any]:
    """A nullable VARCHAR."""
    return Column(name, String(length))


def required_string(name: str, length: int = 255) -> Column[Any]:
    """A VARCHAR that must be filled."""
    return Column(name, String(length), nullable=False)


def text(name: str) -> Column[Any]:
    """A nullable TEXT; MariaDB's `mediumtext` as well."""
    return Column(name, Text)


def integer(name: str) -> Column[Any]:
    """A nullable INTEGER."""
    return Column(name, Integer)


def required_integer(name: str) -> Column[Any]:
    """An INTEGER that must be filled."""
    return Column(name, Integer, nullable=False)


def flag(name: str) -> Column[Any]:
    """A nullable BOOLEAN; MariaDB's `tinyint(1)`."""
    return Column(name, Boolean)


def timestamp(name: str) -> Column[Any]:
    """A nullable DATETIME in UTC, without a zone, as Nova writes it."""
    return Column(name, DateTime)


def written() -> tuple[Column[Any], ...]:
    """When the row was made and last changed: all that the API database keeps."""
    return timestamp("created_at"), timestamp("updated_at")


def written_and_deleted() -> tuple[Column[Any], ...]:
    """As `written`, and Nova's soft deletion: `deleted` is 0, or not 0 once the row is gone."""
    return (*written(), timestamp("deleted_at"), Column("deleted", Integer, default=0))
