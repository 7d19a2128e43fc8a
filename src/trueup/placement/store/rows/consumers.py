# SPDX-License-Identifier: Apache-2.0
"""Consumer rows, and the projects, users and types they belong to."""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    ScalarSelect,
    Select,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from trueup.model.allocations import Consumer, ConsumerAllocations, ConsumerRef
from trueup.placement.store.engine.database import ChangedMeanwhile, Transaction
from trueup.placement.store.engine.statements import FixedStatement, inserting
from trueup.placement.store.packed_rows import packed
from trueup.placement.store.tables import consumer_types, consumers, projects, users

PROJECT, USER, TYPE = "projects", "users", "consumer_types"
"""The kinds of owners of a consumer."""

Owner = tuple[str, str]
"""A project, a user or a consumer type: its kind and its name."""

OWNER_NAMES: Mapping[str, Column[str]] = {
    PROJECT: projects.c.external_id,
    USER: users.c.external_id,
    TYPE: consumer_types.c.name,
}


def _name_of(name: Column[str], key: Column[int]) -> ScalarSelect[str]:
    """A subquery, not a join: a query that locks consumers must not lock their projects."""
    found = select(name).where(name.table.c.id == key)
    return found.correlate(consumers).scalar_subquery()


_OWNERS: tuple[Any, ...] = (
    _name_of(projects.c.external_id, consumers.c.project_id).label("project_id"),
    _name_of(users.c.external_id, consumers.c.user_id).label("user_id"),
)
_PARTS = (
    consumers.c.id,
    consumers.c.generation,
    _name_of(consumer_types.c.name, consumers.c.consumer_type_id),
)
_INSERTED = inserting(consumers, "uuid", "project_id", "user_id", "consumer_type_id", "generation")
_OF_GENERATION = (consumers.c.id == bindparam("key"), consumers.c.generation == bindparam("known"))
_UPDATED = FixedStatement(
    update(consumers)
    .where(*_OF_GENERATION)
    .values(
        project_id=bindparam("project"),
        user_id=bindparam("user"),
        # Without a type, the consumer keeps the one it has.
        consumer_type_id=func.coalesce(bindparam("type"), consumers.c.consumer_type_id),
        generation=consumers.c.generation + 1,
    )
)
_DELETED = FixedStatement(delete(consumers).where(*_OF_GENERATION))
_DELETED_BY_UUID = FixedStatement(delete(consumers).where(consumers.c.uuid == bindparam("key")))


def columns(*others: ColumnElement[Any]) -> Select[Any]:
    """The query for consumers: project, user, and the parts for `read_consumer` in one text.

    `others` are parts from tables that the caller joins.
    """
    # In a row written by hand, the UUID may be any text.
    return select(*_OWNERS, packed(*_PARTS, *others, consumers.c.uuid))


def read_consumer(project_id: str, user_id: str, parts: Sequence[str]) -> Consumer:
    """The consumer in a row; `parts` may have other parts before the UUID."""
    key, generation, type_name, *_, uuid = parts
    return Consumer(int(key), uuid, project_id, user_id, int(generation), type_name or None)


def save(
    tx: Transaction,
    wanted: Sequence[ConsumerAllocations],
    known: Mapping[str, ConsumerRef],
    owners: Mapping[Owner, int],
) -> None:
    """Insert or update the consumers that are to have allocations, and delete the others.

    `known` are the existing consumers, `owners` the ids of existing projects, users and types.
    Raises ChangedMeanwhile if another transaction wrote a known consumer since it was read.
    PARITY: upstream inserts a consumer with generation 0 and raises it at once: clients see 1.
    """
    owner_ids = _owner_ids(tx, [change for change in wanted if change.amounts], owners)
    present = [
        (known[change.consumer_uuid], change) for change in wanted if change.consumer_uuid in known
    ]
    # SAFETY: rows are written, and thereby locked, in the order of their ids.
    for consumer, change in sorted(present, key=itemgetter(0)):
        values = {"key": consumer.id, "known": consumer.generation}
        if change.amounts:
            found = _UPDATED.send(tx, values | _owner_values(change, owner_ids)).row_count
        else:
            found = _DELETED.send(tx, values).row_count
        if found == 0:
            raise ChangedMeanwhile
    new = [
        {
            "uuid": change.consumer_uuid,
            "project_id": owner_ids[PROJECT, change.project_id],
            "user_id": owner_ids[USER, change.user_id],
            "consumer_type_id": owner_ids[TYPE, change.type] if change.type else None,
            "generation": 1,
        }
        for change in wanted
        if change.amounts and change.consumer_uuid not in known
    ]
    if new:
        _INSERTED.send(tx, new)


def delete_consumer(tx: Transaction, uuid: str) -> None:
    """Delete a consumer, if it has a row."""
    _DELETED_BY_UUID.send(tx, {"key": uuid})


def _owner_values(
    change: ConsumerAllocations, owner_ids: Mapping[Owner, int]
) -> dict[str, int | None]:
    return {
        "project": owner_ids[PROJECT, change.project_id],
        "user": owner_ids[USER, change.user_id],
        "type": owner_ids[TYPE, change.type] if change.type else None,
    }


def _owner_ids(
    tx: Transaction, wanted: Iterable[ConsumerAllocations], known: Mapping[Owner, int]
) -> Mapping[Owner, int]:
    """The ids of the projects, users and types of these consumers; new ones are inserted."""
    named = {(PROJECT, change.project_id) for change in wanted}
    named |= {(USER, change.user_id) for change in wanted}
    named |= {(TYPE, change.type) for change in wanted if change.type}
    if known.keys() >= named:
        return known
    ids = dict(known)
    for owner in sorted(named - known.keys()):
        ids[owner] = _id_spelled_differently(tx, owner, ids) or _add_name(tx, owner)
    return ids


def _id_spelled_differently(tx: Transaction, owner: Owner, known: Iterable[Owner]) -> int | None:
    """The id of an owner whose name is equal for MariaDB, which ignores case and accents.

    PERF: `known` has all owners that the database finds by the names of this request. If it has
    none of this kind, the query is not needed.
    """
    kind, name = owner
    if tx.dialect.name != "mysql" or all(other != kind for other, _ in known):
        return None
    column = OWNER_NAMES[kind]
    found: int | None = tx.scalar(select(column.table.c.id).where(column == name))
    return found


def _add_name(tx: Transaction, owner: Owner) -> int:
    """Insert a new project, user or consumer type, and return its id."""
    kind, name = owner
    column = OWNER_NAMES[kind]
    made = tx.execute(insert(column.table).values({column.name: name}))
    assert made.inserted_primary_key is not None
    key: int = made.inserted_primary_key[0]
    return key
