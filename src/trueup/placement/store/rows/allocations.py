# SPDX-License-Identifier: Apache-2.0
"""Allocation rows, by consumer."""

from collections.abc import Collection, Mapping

from sqlalchemy import bindparam, delete, select

from trueup.model.allocations import Allocation, Consumer, ConsumerAllocations
from trueup.placement.store.engine.changes import USAGE_OF, note
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.engine.statements import FixedStatement, ListStatement, inserting
from trueup.placement.store.packed_rows import number_of, parts_of, time_of
from trueup.placement.store.rows.consumers import columns as consumer_columns
from trueup.placement.store.rows.consumers import read_consumer
from trueup.placement.store.tables import allocations, consumers, providers, resource_classes

_OF_CONSUMER = FixedStatement(
    consumer_columns(
        providers.c.uuid,
        providers.c.generation,
        resource_classes.c.name,
        allocations.c.used,
        allocations.c.created_at,
    )
    .join(allocations, allocations.c.consumer_id == consumers.c.uuid)
    .join(providers, allocations.c.resource_provider_id == providers.c.id)
    .join(resource_classes, allocations.c.resource_class_id == resource_classes.c.id)
    .where(allocations.c.consumer_id == bindparam("uuid"))
    .order_by(allocations.c.id)
)
_PARTS_OF_CONSUMER = 9
_INSERTED = inserting(
    allocations, "consumer_id", "resource_provider_id", "resource_class_id", "used"
)
_HELD_OF = FixedStatement(
    select(allocations.c.resource_provider_id)
    .where(allocations.c.consumer_id == bindparam("uuid"))
    .distinct()
)
_DELETED_AND_READ = FixedStatement(
    delete(allocations)
    .where(allocations.c.consumer_id == bindparam("uuid"))
    .returning(allocations.c.resource_provider_id)
)
_DELETED = ListStatement(
    "uuids", lambda uuids: delete(allocations).where(allocations.c.consumer_id.in_(uuids))
)


def of_consumer(tx: Transaction, consumer_uuid: str) -> tuple[Consumer | None, list[Allocation]]:
    """A consumer and its allocations; None and an empty list if it holds nothing."""
    rows = [
        (project, user, parts_of(text, _PARTS_OF_CONSUMER))
        for project, user, text in _OF_CONSUMER.send(tx, {"uuid": consumer_uuid}).rows
    ]
    held = [
        Allocation(provider, resource_class, int(used), number_of(generation), time_of(created_at))
        for _, _, (*_, provider, generation, resource_class, used, created_at, _) in rows
    ]
    return (read_consumer(*rows[0]) if rows else None), held


def delete_of(
    tx: Transaction, consumer_uuids: Collection[str], provider_ids: Collection[int]
) -> None:
    """Delete all allocations of these consumers, which are on these providers."""
    _DELETED.send(tx, {"uuids": list(consumer_uuids)})
    note(tx, USAGE_OF, provider_ids)


def delete_of_consumer(tx: Transaction, consumer_uuid: str) -> bool:
    """Delete all allocations of a consumer, and return whether there were any."""
    values = {"uuid": consumer_uuid}
    # PERF: RETURNING saves one round trip of five. MySQL lacks it, MariaDB has it.
    if tx.dialect.delete_returning:
        provider_ids = {key for (key,) in _DELETED_AND_READ.send(tx, values).rows}
        note(tx, USAGE_OF, provider_ids)
    else:
        provider_ids = {key for (key,) in _HELD_OF.send(tx, values).rows}
        delete_of(tx, [consumer_uuid], provider_ids)
    return bool(provider_ids)


def insert_allocations(
    tx: Transaction,
    wanted: Collection[ConsumerAllocations],
    provider_ids: Mapping[str, int],
    class_ids: Mapping[str, int],
) -> None:
    """Add the allocations that these consumers are to have."""
    rows = [
        {
            "consumer_id": consumer.consumer_uuid,
            "resource_provider_id": provider_ids[provider],
            "resource_class_id": class_ids[resource_class],
            "used": amount,
        }
        for consumer in wanted
        for (provider, resource_class), amount in consumer.amounts.items()
    ]
    if rows:
        _INSERTED.send(tx, rows)
        used = {provider for consumer in wanted for provider, _ in consumer.amounts}
        note(tx, USAGE_OF, {provider_ids[provider] for provider in used})
