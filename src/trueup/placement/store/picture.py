# SPDX-License-Identifier: Apache-2.0
"""The whole ledger as plain rows: what the index is made of."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import and_, func, select

from trueup.placement.store.database import Transaction
from trueup.placement.store.tables import (
    aggregates,
    allocations,
    inventories,
    provider_aggregates,
    provider_traits,
    providers,
    resource_classes,
    traits,
)


class ProviderRow(NamedTuple):
    """A provider and its place in the forest, all by the store's ids."""

    id: int
    uuid: str
    root_id: int
    parent_id: int | None


class StockRow(NamedTuple):
    """An inventory and what is used of it."""

    provider_id: int
    class_id: int
    total: int
    reserved: int
    allocation_ratio: float
    min_unit: int
    max_unit: int
    step_size: int
    used: int


class Picture(NamedTuple):
    """The ledger at one moment."""

    providers: Sequence[ProviderRow]
    stocks: Sequence[StockRow]
    class_ids: Mapping[str, int]
    """Every resource class."""
    trait_ids: Mapping[str, int]
    """Every trait."""
    trait_pairs: Sequence[tuple[int, int]]
    """The id of a provider and of a trait it has, in the order of the traits' ids."""
    aggregate_pairs: Sequence[tuple[int, str]]
    """The id of a provider and the UUID of an aggregate it is a member of."""


def whole(tx: Transaction) -> Picture:
    """Everything; `tx` must be a snapshot, or the rows will not fit each other."""
    return Picture(
        providers=_providers(tx),
        stocks=_stocks(tx),
        class_ids=_named(tx.execute(select(resource_classes.c.name, resource_classes.c.id)).all()),
        trait_ids=_named(tx.execute(select(traits.c.name, traits.c.id)).all()),
        trait_pairs=_trait_pairs(tx),
        aggregate_pairs=_aggregate_pairs(tx),
    )


def _providers(tx: Transaction) -> list[ProviderRow]:
    # Without a root, upstream does not see a provider either.
    query = select(
        providers.c.id,
        providers.c.uuid,
        providers.c.root_provider_id,
        providers.c.parent_provider_id,
    )
    query = query.where(providers.c.root_provider_id.is_not(None)).order_by(providers.c.id)
    return [ProviderRow(*row) for row in tx.execute(query)]


def _stocks(tx: Transaction) -> list[StockRow]:
    used = (
        select(
            allocations.c.resource_provider_id,
            allocations.c.resource_class_id,
            func.sum(allocations.c.used).label("used"),
        )
        .group_by(allocations.c.resource_provider_id, allocations.c.resource_class_id)
        .subquery("used_of")
    )
    query = select(
        inventories.c.resource_provider_id,
        inventories.c.resource_class_id,
        inventories.c.total,
        inventories.c.reserved,
        inventories.c.allocation_ratio,
        inventories.c.min_unit,
        inventories.c.max_unit,
        inventories.c.step_size,
        func.coalesce(used.c.used, 0),
    ).outerjoin(
        used,
        and_(
            inventories.c.resource_provider_id == used.c.resource_provider_id,
            inventories.c.resource_class_id == used.c.resource_class_id,
        ),
    )
    # Some databases sum integers to decimals.
    return [StockRow(*row[:-1], int(row[-1])) for row in tx.execute(query)]


def _trait_pairs(tx: Transaction) -> list[tuple[int, int]]:
    query = select(provider_traits.c.resource_provider_id, provider_traits.c.trait_id)
    return _pairs(tx.execute(query.order_by(provider_traits.c.trait_id)).all())


def _aggregate_pairs(tx: Transaction) -> list[tuple[int, str]]:
    query = select(provider_aggregates.c.resource_provider_id, aggregates.c.uuid).join(
        aggregates, provider_aggregates.c.aggregate_id == aggregates.c.id
    )
    return _pairs(tx.execute(query).all())


def _named(rows: Sequence[Any]) -> dict[str, int]:
    return {name: key for name, key in rows}  # noqa: C416 (rows are no pairs to the type checker)


def _pairs(rows: Sequence[Any]) -> list[Any]:
    return [tuple(row) for row in rows]
