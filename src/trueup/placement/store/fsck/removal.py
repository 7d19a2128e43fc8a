# SPDX-License-Identifier: Apache-2.0
"""Deletes many rows by their ids, in statements of limited length."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from sqlalchemy import Table, delete

from trueup.placement.store.engine.database import Transaction

_AT_ONCE = 500

_Item = TypeVar("_Item")


def delete_rows(tx: Transaction, table: Table, ids: Sequence[int]) -> None:
    """Delete the rows with these ids."""
    for portion in in_portions(ids):
        tx.execute(delete(table).where(table.c.id.in_(portion)))


def in_portions(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    """The items in their order, as many at a time as a statement may name."""
    for start in range(0, len(items), _AT_ONCE):
        yield items[start : start + _AT_ONCE]
