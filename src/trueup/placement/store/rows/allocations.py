# SPDX-License-Identifier: Apache-2.0
"""Allocation rows, by consumer and by provider."""

from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import bindparam, delete, insert, select

from trueup.model.allocations import Allocation, Consumer, ConsumerAllocations, Place
from trueup.model.providers import AnyProvider
from trueup.placement.store.engine.changes import NOTED, USAGE_OF
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.packed_rows import joined, rows_of, time_of
from trueup.placement.store.rows.consumers import columns as consumer_columns
from trueup.placement.store.rows.consumers import read_consumer
from trueup.placement.store.tables import (
    allocations,
    consumers,
    providers,
    resource_classes,
)

# PERF: making a statement costs more than sending it, so those of each claim are made once.
_HELD = (
    select(
        allocations.c.consumer_id,
        providers.c.uuid.label("provider_uuid"),
        resource_classes.c.name.label("resource_class"),
        allocations.c.used,
        allocations.c.resource_provider_id,
    )
    .join(providers, allocations.c.resource_provider_id == providers.c.id)
    .join(resource_classes, allocations.c.resource_class_id == resource_classes.c.id)
    .where(allocations.c.consumer_id.in_(bindparam("uuids", expanding=True)))
)
_OF_CONSUMER = (
    consumer_columns()
    .add_columns(
        providers.c.uuid.label("provider_uuid"),
        providers.c.generation.label("provider_generation"),
        resource_classes.c.name.label("resource_class"),
        allocations.c.used,
        allocations.c.created_at,
    )
    .join(allocations, allocations.c.consumer_id == consumers.c.uuid)
    .join(providers, allocations.c.resource_provider_id == providers.c.id)
    .join(resource_classes, allocations.c.resource_class_id == resource_classes.c.id)
    .where(allocations.c.consumer_id == bindparam("uuid"))
    .order_by(allocations.c.id)
)
_PARTS_OF_PROVIDER = (
    allocations.c.id,
    consumers.c.uuid,
    consumers.c.generation,
    resource_classes.c.name,
    allocations.c.used,
    allocations.c.created_at,
)
_OF_PROVIDER = (
    select(joined(*_PARTS_OF_PROVIDER))
    .select_from(allocations)
    .join(consumers, allocations.c.consumer_id == consumers.c.uuid)
    .join(resource_classes, allocations.c.resource_class_id == resource_classes.c.id)
    .where(allocations.c.resource_provider_id == bindparam("provider"))
)
_INSERTED = insert(allocations)
_DELETED = delete(allocations).where(
    allocations.c.consumer_id.in_(bindparam("uuids", expanding=True))
)


def of_consumer(tx: Transaction, consumer_uuid: str) -> tuple[Consumer | None, list[Allocation]]:
    """A consumer and what it holds; None and nothing if it holds nothing."""
    rows = tx.execute(_OF_CONSUMER, {"uuid": consumer_uuid}).all()
    held = [
        Allocation(
            row.provider_uuid,
            row.resource_class,
            row.used,
            row.provider_generation,
            row.created_at,
        )
        for row in rows
    ]
    return (read_consumer(rows[0]) if rows else None), held


def of_provider(tx: Transaction, provider: AnyProvider) -> list[tuple[str, int, Allocation]]:
    """What is held of a provider: UUID and generation of each consumer, and its allocation."""
    texts = tx.scalars(_OF_PROVIDER, {"provider": provider.id})
    return [
        (
            consumer,
            int(generation),
            Allocation(
                provider.uuid, resource_class, int(used), provider.generation, time_of(created_at)
            ),
        )
        for _, consumer, generation, resource_class, used, created_at in rows_of(
            texts, len(_PARTS_OF_PROVIDER)
        )
    ]


def held_by(tx: Transaction, consumer_uuids: Collection[str]) -> dict[str, dict[Place, int]]:
    """What these consumers hold, also when there is no row for the consumer itself.

    Noted as about to change: nobody else than a transaction that takes it away asks this.
    """
    if not consumer_uuids:
        return {}
    held: dict[str, dict[Place, int]] = {}
    for row in tx.execute(_HELD, {"uuids": list(consumer_uuids)}):
        tx.info[NOTED].add(f"{USAGE_OF}{row.resource_provider_id}")
        places = held.setdefault(row.consumer_id, {})
        place = (row.provider_uuid, row.resource_class)
        # By hand a consumer may have two rows for one place; both count as used.
        places[place] = places.get(place, 0) + row.used
    return held


def delete_of(tx: Transaction, consumer_uuids: Collection[str]) -> None:
    """Take everything from these consumers."""
    if consumer_uuids:
        tx.execute(_DELETED, {"uuids": list(consumer_uuids)})


def insert_allocations(
    tx: Transaction,
    wanted: Iterable[ConsumerAllocations],
    provider_ids: Mapping[str, int],
    class_ids: Mapping[str, int],
) -> None:
    """Give these consumers what they shall hold."""
    rows = [
        {
            "consumer_id": one.consumer_uuid,
            "resource_provider_id": provider_ids[provider],
            "resource_class_id": class_ids[resource_class],
            "used": amount,
        }
        for one in wanted
        for (provider, resource_class), amount in one.amounts.items()
    ]
    if rows:
        tx.execute(_INSERTED, rows)
        tx.info[NOTED].update([f"{USAGE_OF}{row['resource_provider_id']}" for row in rows])
