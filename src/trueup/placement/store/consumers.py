# SPDX-License-Identifier: Apache-2.0
"""Consumer rows, and the projects, users and types they belong to."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
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

from trueup.model.allocations import Consumer, ConsumerAllocations
from trueup.placement.store.database import Transaction
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
    _COLUMNS.where(consumers.c.uuid.in_(bindparam("uuids", expanding=True)))
    .order_by(consumers.c.id)
    .with_for_update()
)


def _named(column: Column[str]) -> Select[Any]:
    kind = literal(column.table.name, String).label("kind")
    name = cast(column, String(255)).label("name")
    wanted: BindParameter[Any] = bindparam(column.table.name, expanding=True)
    return select(kind, column.table.c.id, name).where(column.in_(wanted))


_OWNERS = union_all(*(_named(column) for column in _NAMES.values()))


@dataclass(frozen=True, slots=True)
class OwnerIds:
    """The ids of projects, users and consumer types, by their names."""

    projects: Mapping[str, int]
    users: Mapping[str, int]
    types: Mapping[str, int]


def lock(tx: Transaction, uuids: Collection[str]) -> dict[str, Consumer]:
    """Those of these consumers that exist, locked until the end, in the order of their ids."""
    found = [read_consumer(row) for row in tx.execute(_LOCKED, {"uuids": list(uuids)})]
    return {consumer.uuid: consumer for consumer in found}


def columns() -> Select[Any]:
    """The query that `read_consumer` understands; callers add joins and conditions."""
    return _COLUMNS


def read_consumer(row: Row[Any]) -> Consumer:
    """One row of a query made from `columns`."""
    return Consumer(row.id, row.uuid, row.project_id, row.user_id, row.generation, row.type)


def save(
    tx: Transaction, wanted: Iterable[ConsumerAllocations], known: Mapping[str, Consumer]
) -> None:
    """Write the consumers that shall hold something: new ones, and each with a new generation.

    PARITY: a consumer is made with generation 0 and bumped at once, so clients first see 1.
    """
    wanted = list(wanted)
    if not wanted:
        return
    owners = _owner_ids(tx, wanted)
    new = [one for one in wanted if one.consumer_uuid not in known]
    if new:
        rows = [_owners_of(one, owners) | {"uuid": one.consumer_uuid} for one in new]
        for row in rows:
            row.setdefault("consumer_type_id", None)
        tx.execute(insert(consumers), [row | {"generation": 1} for row in rows])
    for one in wanted:
        consumer = known.get(one.consumer_uuid)
        if consumer is not None:
            values = _owners_of(one, owners) | {"generation": consumer.generation + 1}
            tx.execute(update(consumers).where(consumers.c.id == consumer.id).values(values))


def delete_consumers(tx: Transaction, uuids: Collection[str]) -> None:
    """Forget consumers that hold nothing any more."""
    if uuids:
        tx.execute(delete(consumers).where(consumers.c.uuid.in_(uuids)))


def _owners_of(one: ConsumerAllocations, owners: OwnerIds) -> dict[str, Any]:
    values = {
        "project_id": owners.projects[one.project_id],
        "user_id": owners.users[one.user_id],
    }
    if one.type is not None:
        values["consumer_type_id"] = owners.types[one.type]
    return values


def _owner_ids(tx: Transaction, wanted: Collection[ConsumerAllocations]) -> OwnerIds:
    """The ids of all names in the request; those that are seen for the first time are added."""
    names = {
        "projects": {one.project_id for one in wanted},
        "users": {one.user_id for one in wanted},
        "consumer_types": {one.type for one in wanted if one.type is not None},
    }
    values = {table: list(wanted_names) for table, wanted_names in names.items()}
    found = _by_table(names, tx.execute(_OWNERS, values).all())
    missing = {table: sorted(names[table] - set(found[table])) for table in _NAMES}
    for table, unknown in missing.items():
        if unknown:
            column = _NAMES[table]
            tx.execute(insert(column.table), [{column.name: name} for name in unknown])
    if any(missing.values()):
        found = _by_table(names, tx.execute(_OWNERS, values).all())
    return OwnerIds(found["projects"], found["users"], found["consumer_types"])


def _by_table(
    names: Mapping[str, Collection[str]], rows: Collection[Any]
) -> dict[str, dict[str, int]]:
    """By table, keyed by the names asked for: MariaDB holds names equal that differ in case."""
    exact = {(row.kind, row.name): row.id for row in rows}
    folded = {(row.kind, row.name.lower()): row.id for row in rows}
    return {
        table: {
            name: exact.get((table, name), folded.get((table, name.lower()), 0))
            for name in names[table]
            if (table, name) in exact or (table, name.lower()) in folded
        }
        for table in _NAMES
    }
