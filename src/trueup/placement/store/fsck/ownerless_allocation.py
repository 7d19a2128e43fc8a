# SPDX-License-Identifier: Apache-2.0
"""Allocations whose consumer has no row.

They count as usage, yet no request lists them. They may be in use, so they are never deleted: the
consumer gets a row, and is listed again.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, Select, func, insert, select

from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.fsck.findings import Finding, Incomplete
from trueup.placement.store.tables import allocations, consumers, projects, users

DEFECT = "ownerless_allocation"


def find(tx: Transaction) -> list[Finding]:
    """One finding for each consumer without a row."""
    found = tx.execute(
        _ownerless(
            func.count().label("rows"),
            func.count(allocations.c.resource_provider_id.distinct()).label("providers"),
        )
    )
    return [
        Finding(
            defect=DEFECT,
            subject=f"consumer {row.consumer_id}",
            evidence=f"holds {row.rows} allocations of {row.providers} providers, and has no row",
            remedy="give it a row, with the project and user of incomplete consumers",
            rows=row.consumer_id,
        )
        for row in found
    ]


def repair(tx: Transaction, findings: Sequence[Finding], incomplete: Incomplete) -> None:
    """Give each of these consumers a row."""
    _insert_consumers(tx, [finding.rows for finding in findings], incomplete)


def create_consumers(tx: Transaction, most: int, incomplete: Incomplete) -> int:
    """Insert the missing row of at most so many consumers, and return their number."""
    uuids = [row.consumer_id for row in tx.execute(_ownerless().limit(most))]
    if uuids:
        _insert_consumers(tx, uuids, incomplete)
    return len(uuids)


def owner_ids(tx: Transaction, incomplete: Incomplete) -> tuple[int, int]:
    """The ids of the project and the user of incomplete consumers, inserted if they are new."""
    return (
        _id_of(tx, projects.c.external_id, incomplete.project_id),
        _id_of(tx, users.c.external_id, incomplete.user_id),
    )


def count_ownerless(tx: Transaction) -> int:
    """The number of consumers with allocations and without a row."""
    return tx.scalar(select(func.count()).select_from(_ownerless().subquery())) or 0


def _ownerless(*more: Any) -> Select[Any]:
    known = select(consumers.c.id).where(consumers.c.uuid == allocations.c.consumer_id)
    query = select(allocations.c.consumer_id, *more).where(~known.exists())
    return query.group_by(allocations.c.consumer_id).order_by(allocations.c.consumer_id)


def _insert_consumers(tx: Transaction, uuids: Sequence[str], incomplete: Incomplete) -> None:
    project_id, user_id = owner_ids(tx, incomplete)
    owners = {"project_id": project_id, "user_id": user_id}
    # The statement must not name columns that a database of an older revision lacks.
    tx.execute(insert(consumers), [{"uuid": uuid, "generation": 0, **owners} for uuid in uuids])


def _id_of(tx: Transaction, column: Column[str], name: str) -> int:
    query = select(column.table.c.id).where(column == name)
    found = tx.scalar(query)
    if found is None:
        tx.execute(insert(column.table).values({column.name: name}))
        found = tx.scalar(query)
    assert found is not None
    return int(found)
