# SPDX-License-Identifier: Apache-2.0
"""Consumers without allocations. Their rows only make counts wrong."""

from collections.abc import Sequence

from sqlalchemy import select

from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.fsck.findings import Finding, Incomplete
from trueup.placement.store.fsck.removal import delete_rows
from trueup.placement.store.tables import allocations, consumers

DEFECT = "dead_consumer"


def find(tx: Transaction) -> list[Finding]:
    """One finding for each of them."""
    holding = select(allocations.c.id).where(allocations.c.consumer_id == consumers.c.uuid)
    query = select(consumers.c.id, consumers.c.uuid).where(~holding.exists())
    return [
        Finding(
            defect=DEFECT,
            subject=f"consumer {row.uuid}",
            evidence="has a row, and holds nothing",
            remedy="delete the row",
            rows=row.id,
        )
        for row in tx.execute(query.order_by(consumers.c.id))
    ]


def repair(tx: Transaction, findings: Sequence[Finding], _incomplete: Incomplete) -> None:
    """Delete their rows."""
    delete_rows(tx, consumers, [finding.rows for finding in findings])
