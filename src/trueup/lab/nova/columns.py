# SPDX-License-Identifier: Apache-2.0
"""Kinds of columns that many of Nova's tables share."""

from typing import Any

from sqlalchemy import Boolean, Column, DateTime, Integer, String, Text


def identity() -> Column[Any]:
    """The integer primary key, `id`."""
    return Column("id", Integer, primary_key=True, autoincrement=True)


def string(name: str, length: int = 255) -> Column[Any]:
    """A nullable VARCHAR."""
    return Column(name, String(length))


def required_string(name: str, length: int = 255) -> Column[Any]:
    """A VARCHAR that cannot be NULL."""
    return Column(name, String(length), nullable=False)


def text(name: str) -> Column[Any]:
    """A nullable TEXT, also for MariaDB's `mediumtext`."""
    return Column(name, Text)


def integer(name: str) -> Column[Any]:
    """A nullable INTEGER."""
    return Column(name, Integer)


def required_integer(name: str) -> Column[Any]:
    """An INTEGER that cannot be NULL."""
    return Column(name, Integer, nullable=False)


def flag(name: str) -> Column[Any]:
    """A nullable BOOLEAN, for MariaDB's `tinyint(1)`."""
    return Column(name, Boolean)


def timestamp(name: str) -> Column[Any]:
    """A nullable DATETIME in UTC, without a zone, as Nova writes it."""
    return Column(name, DateTime)


def written() -> tuple[Column[Any], ...]:
    """The columns with the times of creation and of the last change, as in the API database."""
    return timestamp("created_at"), timestamp("updated_at")


def written_and_deleted() -> tuple[Column[Any], ...]:
    """As `written`, with the columns of soft deletion: `deleted` is not 0 for a deleted row."""
    return (*written(), timestamp("deleted_at"), Column("deleted", Integer, default=0))
