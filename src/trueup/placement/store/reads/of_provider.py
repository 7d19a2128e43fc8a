# SPDX-License-Identifier: Apache-2.0
"""The rows of one provider, each kind read in one statement with the provider's generation.

PERF: finding the provider first takes a second round trip, a fifth to a quarter of such a request.
Where a provider has many rows, they come packed.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, select

from trueup.model.allocations import Allocation
from trueup.model.inventories import Inventory
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.engine.statements import FixedStatement
from trueup.placement.store.packed_rows import packed, packed_group, parts_of, rows_of, time_of
from trueup.placement.store.rows.class_and_trait_names import NamedRow
from trueup.placement.store.rows.inventories import AMOUNTS
from trueup.placement.store.tables import (
    aggregates,
    allocations,
    consumers,
    inventories,
    provider_aggregates,
    provider_traits,
    providers,
    resource_classes,
)
from trueup.placement.store.tables import traits as all_traits


def _generation_with(rows: Any, is_of_provider: ColumnElement[bool], *columns: Any) -> Select[Any]:
    """The generation of a provider joined with its rows, or with NULL if it has none."""
    query = select(providers.c.generation, *columns).select_from(
        providers.outerjoin(rows, is_of_provider)
    )
    return query.where(providers.c.uuid == bindparam("uuid"))


def _packed(rows: Any, is_of_provider: ColumnElement[bool], *parts: Any) -> Select[Any]:
    """The generation of a provider with all its rows in one text."""
    query = _generation_with(rows, is_of_provider, packed_group(*parts))
    return query.group_by(providers.c.id, providers.c.generation)


_INVENTORIES = FixedStatement(
    _generation_with(
        inventories.join(
            resource_classes, inventories.c.resource_class_id == resource_classes.c.id
        ),
        inventories.c.resource_provider_id == providers.c.id,
        # SQLite shortens a number with a fraction that becomes a text.
        inventories.c.allocation_ratio,
        packed(
            *(inventories.c[name] for name in AMOUNTS if name != "allocation_ratio"),
            func.coalesce(inventories.c.updated_at, inventories.c.created_at),
            resource_classes.c.name,
        ),
    ).order_by(inventories.c.id)
)
_USAGES = FixedStatement(
    _generation_with(
        inventories.join(
            resource_classes, inventories.c.resource_class_id == resource_classes.c.id
        ).outerjoin(
            allocations,
            and_(
                allocations.c.resource_provider_id == inventories.c.resource_provider_id,
                allocations.c.resource_class_id == inventories.c.resource_class_id,
            ),
        ),
        inventories.c.resource_provider_id == providers.c.id,
        resource_classes.c.name,
        func.coalesce(func.sum(allocations.c.used), 0),
    )
    .group_by(providers.c.generation, resource_classes.c.id, resource_classes.c.name)
    .order_by(resource_classes.c.id)
)
_AGGREGATES = FixedStatement(
    _generation_with(
        provider_aggregates.join(aggregates, provider_aggregates.c.aggregate_id == aggregates.c.id),
        provider_aggregates.c.resource_provider_id == providers.c.id,
        aggregates.c.uuid,
    ).order_by(aggregates.c.id)
)
_TRAIT_PARTS = (
    all_traits.c.id,
    func.coalesce(all_traits.c.updated_at, all_traits.c.created_at),
    all_traits.c.name,
)
_TRAITS = FixedStatement(
    _packed(
        provider_traits.join(all_traits, provider_traits.c.trait_id == all_traits.c.id),
        provider_traits.c.resource_provider_id == providers.c.id,
        *_TRAIT_PARTS,
    )
)
_ALLOCATION_PARTS = (
    allocations.c.id,
    consumers.c.generation,
    resource_classes.c.name,
    allocations.c.used,
    allocations.c.created_at,
    # In a row written by hand, it may be any text.
    consumers.c.uuid,
)
_ALLOCATIONS = FixedStatement(
    _packed(
        allocations.join(consumers, allocations.c.consumer_id == consumers.c.uuid).join(
            resource_classes, allocations.c.resource_class_id == resource_classes.c.id
        ),
        allocations.c.resource_provider_id == providers.c.id,
        *_ALLOCATION_PARTS,
    )
)


# Each returns None if there is no provider with this UUID.


def inventories_of(tx: Transaction, uuid: str) -> tuple[int, dict[str, Inventory]] | None:
    """The generation of a provider, and its inventories by resource class."""
    rows = _INVENTORIES.send(tx, {"uuid": uuid}).rows
    # A provider without inventories has one row, without a ratio.
    found = [_inventory(ratio, parts_of(text)) for _, ratio, text in rows if ratio is not None]
    by_class = {inventory.resource_class: inventory for inventory in found}
    return (rows[0][0], by_class) if rows else None


def _inventory(ratio: float, parts: Sequence[str]) -> Inventory:
    *amounts, modified_at, name = parts
    total, reserved, min_unit, max_unit, step_size = map(int, amounts)
    return Inventory(
        name, total, reserved, min_unit, max_unit, step_size, ratio, time_of(modified_at)
    )


def usages_of(tx: Transaction, uuid: str) -> tuple[int, dict[str, int]] | None:
    """The generation of a provider, and the usage of each of its inventories, 0 included."""
    rows = _USAGES.send(tx, {"uuid": uuid}).rows
    found = {name: int(used) for _, name, used in rows if name is not None}
    return (rows[0][0], found) if rows else None


def aggregates_of(tx: Transaction, uuid: str) -> tuple[int, list[str]] | None:
    """The generation of a provider, and the UUIDs of its aggregates."""
    rows = _AGGREGATES.send(tx, {"uuid": uuid}).rows
    return (rows[0][0], [member for _, member in rows if member is not None]) if rows else None


def traits_of(tx: Transaction, uuid: str) -> tuple[int, list[NamedRow]] | None:
    """The generation of a provider, and its traits in the order of their ids."""
    found = _TRAITS.send(tx, {"uuid": uuid}).rows
    if not found:
        return None
    ((generation, text),) = found
    rows = rows_of([text], len(_TRAIT_PARTS))
    return generation, [NamedRow(int(key), name, time_of(time)) for key, time, name in rows]


def allocations_of(
    tx: Transaction, uuid: str
) -> tuple[int, list[tuple[str, int, Allocation]]] | None:
    """The generation of a provider, and its allocations with consumer UUID and generation."""
    found = _ALLOCATIONS.send(tx, {"uuid": uuid}).rows
    if not found:
        return None
    ((generation, text),) = found
    rows = rows_of([text], len(_ALLOCATION_PARTS))
    return generation, [
        (
            consumer,
            int(consumer_generation),
            Allocation(uuid, resource_class, int(used), generation, time_of(created_at)),
        )
        for _, consumer_generation, resource_class, used, created_at, consumer in rows
    ]
