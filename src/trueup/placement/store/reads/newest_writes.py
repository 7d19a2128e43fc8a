# SPDX-License-Identifier: Apache-2.0
"""How much of the ledger was written since a moment."""

from datetime import datetime

from sqlalchemy import ColumnElement, Table, func, select

from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.tables import allocations, inventories


def consumers_written(tx: Transaction, since: datetime) -> int:
    """How many consumers were written, of those that hold something: a write makes new rows."""
    return _distinct(tx, allocations.c.consumer_id, allocations, since)


def providers_written(tx: Transaction, since: datetime) -> int:
    """How many providers have an inventory that was written."""
    return _distinct(tx, inventories.c.resource_provider_id, inventories, since)


def _distinct(tx: Transaction, key: ColumnElement[object], rows: Table, since: datetime) -> int:
    written = func.coalesce(rows.c.updated_at, rows.c.created_at)
    query = select(func.count(key.distinct())).where(written > since)
    return int(tx.execute(query).scalar_one())
