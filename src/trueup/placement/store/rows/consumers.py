# SPDX-License-Identifier: Apache-2.0
"""Consumer rows, and the projects, users and types they belong to."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import (
    BindParameter,
    Column,
    Row,
    ScalarSelect,
    Select,
    String,
    bindparam,
    cast,
    delete,
    insert,
    literal,
    select,
    union_all,
    update,
)

from trueup.model.allocations import Consumer, ConsumerAllocations, ConsumerRef
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.tables import consumer_types, consumers, projects, users

_NAMES: Mapping[str, Column[str]] = {
    "projects": projects.c.external_id,
    "users": users.c.external_id,
    "consumer_types": consumer_types.c.name,
}


def _name_of(name: Column[str], key: Column[int]) -> ScalarSelect[str]:
    """A subquery, not a join: a query that locks consumers must not lock their projects."""
    found = select(name).where(name.table.c.id == key)
    return found.correlate(consumers).scalar_subquery()


# PERF: making a statement costs more than sending it, so those of each claim are made once.
_COLUMNS: Select[Any] = select(
    consumers.c.id,
    consumers.c.uuid,
    consumers.c.generation,
    _name_of(projects.c.external_id, consumers.c.project_id).label("project_id"),
    _name_of(users.c.external_id, consumers.c.user_id).label("user_id"),
    _name_of(consumer_types.c.name, consumers.c.consumer_type_id).label("type"),
)
_LOCKED = (
    select(consumers.c.id, consumers.c.uuid, consumers.c.generation)
    .where(consumers.c.uuid.in_(bindparam("uuids", expanding=True)))
    .order_by(consumers.c.id)
    .with_for_update()
)


def _named(column: Column[str]) -> Select[Any]:
    kind = literal(column.table.name, String).label("kind")
    name = cast(column, String(255)).label("name")
    wanted: BindParameter[Any] = bindparam(column.table.name, expanding=True)
    return select(kind, column.table.c.id, name).where(column.in_(wanted))


_OWNERS = union_all(*(_named(column) for column in _NAMES.values()))


def lock(tx: Transaction, uuids: Collection[str]) -> dict[str, ConsumerRef]:
    """Those of these consumers that exist, locked until the end, in the order of their ids."""
    found = tx.execute(_LOCKED, {"uuids": list(uuids)})
    return {row.uuid: ConsumerRef(*row) for row in found}


def columns() -> Select[Any]:
    """The query that `read_consumer` understands; callers add joins and conditions."""
    return _COLUMNS


def read_consumer(row: Row[Any]) -> Consumer:
    """One row of a query made from `columns`."""
    return Consumer(row.id, row.uuid, row.project_id, row.user_id, row.generation, row.type)


def save(
    tx: Transaction, wanted: Collection[ConsumerAllocations], known: Mapping[str, ConsumerRef]
) -> None:
    """Insert or update the consumers that are to have allocations, each with a new generation.

    PARITY: upstream inserts a consumer with generation 0 and raises it at once: clients see 1.
    """
    names = {
        "projects": {one.project_id for one in wanted},
        "users": {one.user_id for one in wanted},
        "consumer_types": {one.type for one in wanted if one.type is not None},
    }
    rows = tx.execute(_OWNERS, {kind: list(some) for kind, some in names.items()}).all()
    # MariaDB finds a name also in the other case.
    found = {(kind, name.lower()): id_ for kind, id_, name in rows}
    found |= {(kind, name): id_ for kind, id_, name in rows}
    ids = {
        (kind, name): found.get((kind, name), found.get((kind, name.lower())))
        for kind in names
        for name in names[kind]
    }
    missing = [key for key, id_ in ids.items() if id_ is None]
    if missing:
        ids |= _add_names(tx, missing)
    owned = [
        {
            "uuid": one.consumer_uuid,
            "project_id": ids["projects", one.project_id],
            "user_id": ids["users", one.user_id],
            "consumer_type_id": ids["consumer_types", one.type] if one.type else None,
            "generation": 1,
        }
        for one in wanted
    ]
    new = [row for row in owned if row["uuid"] not in known]
    if new:
        tx.execute(insert(consumers), new)
    for one, row in zip(wanted, owned, strict=True):
        consumer = known.get(one.consumer_uuid)
        if consumer is not None:
            # Without a type, the consumer keeps the one it has.
            values = {column: value for column, value in row.items() if value is not None}
            values["generation"] = consumer.generation + 1
            tx.execute(update(consumers).where(consumers.c.id == consumer.id).values(values))


def delete_consumers(tx: Transaction, uuids: Collection[str]) -> None:
    """Delete consumers that have no allocations any more."""
    if uuids:
        tx.execute(delete(consumers).where(consumers.c.uuid.in_(uuids)))


def _add_names(tx: Transaction, missing: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Insert projects, users and consumer types that are new; their ids."""
    added = {}
    for kind, name in sorted(missing):
        column = _NAMES[kind]
        made = tx.execute(insert(column.table).values({column.name: name}))
        assert made.inserted_primary_key is not None
        added[kind, name] = made.inserted_primary_key[0]
    return added
