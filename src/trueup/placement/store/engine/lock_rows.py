# SPDX-License-Identifier: Apache-2.0
"""Rows that transactions write only to keep others from committing at the same time.

On one server a lock is enough. A Galera cluster has no locks across nodes: it lets two transactions
commit unless both wrote the same row. So two transactions that each decide by rows the other one
changes write a lock row. On one server it is a lock as well: the second transaction waits.

Each kind has a fixed number of lock rows, which its subjects share. So the table stays small; now
and then a transaction waits, or starts again, without need.
"""

from collections.abc import Iterable

from sqlalchemy import Connection, bindparam, insert, select, update

from trueup.placement.store.engine.statements import FixedStatement
from trueup.placement.store.own_tables import locks

TREE, RESOURCE_CLASS, PROVIDER = "tree", "class", "provider"
"""The shape of a tree, by the id of its root; a class or a provider that may be deleted, by id."""

_ROWS_OF_A_KIND = 64
_LAST_CLASS_ID = "last class id"

_TAKEN = FixedStatement(
    update(locks).where(locks.c.name == bindparam("key")).values(number=locks.c.number + 1)
)
_RAISED = update(locks).where(locks.c.name == _LAST_CLASS_ID).values(number=bindparam("id"))


def take(tx: Connection, kind: str, ids: Iterable[int]) -> None:
    """Write the lock rows of these subjects. Others that do so wait until this transaction ends.

    SAFETY: this comes before the subjects are read, and it takes several rows in one order.
    """
    for name in sorted({f"{kind} {id_ % _ROWS_OF_A_KIND}" for id_ in ids}):
        if _TAKEN.send(tx, {"key": name}).row_count == 0:
            # If two transactions insert it, one of them starts again.
            tx.execute(insert(locks).values(name=name, number=1))


def next_class_id(tx: Connection, free: int) -> int:
    """An id that no resource class ever had: `free`, or a greater one if that was used before."""
    id_ = max(free, _last_class_id(tx) + 1)
    keep_class_id(tx, id_)
    return id_


def keep_class_id(tx: Connection, id_: int) -> None:
    """Remember that a resource class had this id.

    SAFETY: a row that refers to a deleted class must never refer to another one later.
    """
    if tx.execute(_RAISED, {"id": max(id_, _last_class_id(tx))}).rowcount == 0:
        tx.execute(insert(locks).values(name=_LAST_CLASS_ID, number=id_))


def _last_class_id(tx: Connection) -> int:
    query = select(locks.c.number).where(locks.c.name == _LAST_CLASS_ID)
    return tx.scalar(query.with_for_update()) or 0
