# SPDX-License-Identifier: Apache-2.0
"""Reads for pages: trees, a search by name or UUID, one provider, one consumer.

The caller limits every list. Inconsistent rows, such as a provider whose root is gone, are shown
too: an operator may look for exactly these.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, func, or_, select

from trueup.model.inventories import Inventory, InventoryWithUsage
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.tables import (
    aggregates,
    allocations,
    consumer_types,
    consumers,
    inventories,
    projects,
    provider_aggregates,
    provider_traits,
    providers,
    resource_classes,
    traits,
    users,
)


class BrowsedProvider(NamedTuple):
    """The row of a provider; `parent_id` and `root_id` may name rows that are gone."""

    id: int
    uuid: str
    name: str | None
    generation: int | None
    parent_id: int | None
    root_id: int | None


class Holding(NamedTuple):
    """An amount that a consumer holds; a field is None where its row is gone."""

    consumer_uuid: str
    provider_uuid: str | None
    provider_name: str | None
    resource_class: str | None
    amount: int


class BrowsedConsumer(NamedTuple):
    """The row of a consumer; its times are UTC."""

    uuid: str
    generation: int
    project_id: str | None
    user_id: str | None
    type: str | None
    created_at: datetime | None
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class Resources:
    """The inventories and the usage of a provider, by the name of the class."""

    inventories: Mapping[str, InventoryWithUsage]
    used_without_inventory: Mapping[str, int]


_PROVIDERS = select(
    providers.c.id,
    providers.c.uuid,
    providers.c.name,
    providers.c.generation,
    providers.c.parent_provider_id,
    providers.c.root_provider_id,
)
_CONSUMERS = (
    select(
        consumers.c.uuid,
        consumers.c.generation,
        projects.c.external_id,
        users.c.external_id,
        consumer_types.c.name,
        consumers.c.created_at,
        consumers.c.updated_at,
    )
    .outerjoin(projects, projects.c.id == consumers.c.project_id)
    .outerjoin(users, users.c.id == consumers.c.user_id)
    .outerjoin(consumer_types, consumer_types.c.id == consumers.c.consumer_type_id)
)
_HOLDINGS = (
    select(
        allocations.c.consumer_id,
        providers.c.uuid,
        providers.c.name,
        resource_classes.c.name,
        allocations.c.used,
    )
    .outerjoin(providers, providers.c.id == allocations.c.resource_provider_id)
    .outerjoin(resource_classes, resource_classes.c.id == allocations.c.resource_class_id)
)
_IS_TOP = providers.c.parent_provider_id.is_(None)


def count_trees(tx: Transaction) -> int:
    """The number of providers without a parent."""
    return int(tx.scalar(select(func.count()).select_from(providers).where(_IS_TOP)) or 0)


def tops(tx: Transaction, offset: int, limit: int) -> list[BrowsedProvider]:
    """Providers without a parent, by name."""
    query = _PROVIDERS.where(_IS_TOP).order_by(providers.c.name, providers.c.id)
    return _providers(tx, query.offset(offset).limit(limit))


def below(tx: Transaction, top_ids: Collection[int], limit: int) -> list[BrowsedProvider]:
    """The providers whose root is one of these, without the roots, by name."""
    query = _PROVIDERS.where(
        providers.c.root_provider_id.in_(top_ids), providers.c.id.not_in(top_ids)
    )
    return _providers(tx, query.order_by(providers.c.name, providers.c.id).limit(limit))


def provider(tx: Transaction, uuid: str) -> BrowsedProvider | None:
    """The provider with this UUID, if it exists."""
    found = _providers(tx, _PROVIDERS.where(providers.c.uuid == uuid))
    return found[0] if found else None


def providers_of(tx: Transaction, ids: Collection[int]) -> dict[int, BrowsedProvider]:
    """The providers with these ids, by id."""
    found = _providers(tx, _PROVIDERS.where(providers.c.id.in_(ids))) if ids else []
    return {provider.id: provider for provider in found}


def search_providers(tx: Transaction, words: str, limit: int) -> list[BrowsedProvider]:
    """Providers with these words in their name, or whose UUID begins with them."""
    wanted = or_(
        func.lower(providers.c.name).contains(words.lower(), autoescape=True),
        providers.c.uuid.startswith(words.lower(), autoescape=True),
    )
    return _providers(tx, _PROVIDERS.where(wanted).order_by(providers.c.name).limit(limit))


def providers_in(tx: Transaction, aggregate_uuid: str, limit: int) -> list[BrowsedProvider]:
    """The providers in an aggregate, by name."""
    ids = (
        select(provider_aggregates.c.resource_provider_id)
        .join(aggregates, aggregates.c.id == provider_aggregates.c.aggregate_id)
        .where(aggregates.c.uuid == aggregate_uuid)
    )
    query = _PROVIDERS.where(providers.c.id.in_(ids)).order_by(providers.c.name)
    return _providers(tx, query.limit(limit))


def search_consumers(tx: Transaction, words: str, limit: int) -> list[BrowsedConsumer]:
    """Consumers whose UUID begins with these words, or whose project or user has this id."""
    owners: list[ColumnElement[bool]] = [
        consumers.c[key].in_(select(table.c.id).where(table.c.external_id == words))
        for key, table in (("project_id", projects), ("user_id", users))
    ]
    by_uuid = consumers.c.uuid.startswith(words.lower(), autoescape=True)
    query = _CONSUMERS.where(or_(by_uuid, *owners)).order_by(consumers.c.uuid).limit(limit)
    return [BrowsedConsumer(*row) for row in tx.execute(query)]


def consumer(tx: Transaction, uuid: str) -> BrowsedConsumer | None:
    """The row of a consumer, if it has one. A consumer without a row may have allocations."""
    row = tx.execute(_CONSUMERS.where(consumers.c.uuid == uuid)).first()
    return BrowsedConsumer(*row) if row else None


def holdings_of_consumer(tx: Transaction, uuid: str, limit: int) -> list[Holding]:
    """The allocations of a consumer, with or without a row of its own."""
    query = _HOLDINGS.where(allocations.c.consumer_id == uuid)
    query = query.order_by(providers.c.name, resource_classes.c.name, allocations.c.id)
    return [Holding(*row) for row in tx.execute(query.limit(limit))]


def count_holders(tx: Transaction, provider_id: int) -> int:
    """The number of consumers with allocations on a provider."""
    query = select(func.count(allocations.c.consumer_id.distinct()))
    query = query.where(allocations.c.resource_provider_id == provider_id)
    return int(tx.scalar(query) or 0)


def holdings_on_provider(
    tx: Transaction, provider_id: int, offset: int, limit: int
) -> list[Holding]:
    """The allocations on a provider of up to `limit` consumers, in the order of their UUIDs."""
    is_of_it = allocations.c.resource_provider_id == provider_id
    page = select(allocations.c.consumer_id).where(is_of_it).distinct()
    page = page.order_by(allocations.c.consumer_id).offset(offset).limit(limit)
    uuids = tx.scalars(page).all()
    query = _HOLDINGS.where(is_of_it, allocations.c.consumer_id.in_(uuids))
    query = query.order_by(allocations.c.consumer_id, resource_classes.c.name, allocations.c.id)
    return [Holding(*row) for row in tx.execute(query)]


def consumers_of(tx: Transaction, uuids: Iterable[str]) -> dict[str, BrowsedConsumer]:
    """The rows of these consumers, by UUID."""
    query = _CONSUMERS.where(consumers.c.uuid.in_(set(uuids)))
    return {row[0]: BrowsedConsumer(*row) for row in tx.execute(query)}


def resources_of(tx: Transaction, ids: Collection[int]) -> dict[int, Resources]:
    """The inventories and the usage of each of these providers."""
    offered: dict[int, dict[str, Inventory]] = {id_: {} for id_ in ids}
    used: dict[int, dict[str, int]] = {id_: {} for id_ in ids}
    if not ids:
        return {}
    for id_, name, *amounts in tx.execute(
        _INVENTORIES.where(inventories.c.resource_provider_id.in_(ids))
    ):
        offered[id_][name] = Inventory(name, *amounts)
    for id_, name, amount in tx.execute(_USED.where(allocations.c.resource_provider_id.in_(ids))):
        used[id_][name] = int(amount)
    return {id_: _resources(offered[id_], used[id_]) for id_ in ids}


def totals(tx: Transaction) -> Resources:
    """The capacity and the usage of the whole ledger; the total of a class is its capacity."""
    capacities: dict[str, int] = {}
    for _, name, *amounts in tx.execute(_INVENTORIES):
        capacity = Inventory(name, *amounts).capacity
        capacities[name] = capacities.get(name, 0) + capacity
    query = select(resource_classes.c.name, func.sum(allocations.c.used))
    query = query.join(resource_classes, resource_classes.c.id == allocations.c.resource_class_id)
    used = {
        name: int(amount) for name, amount in tx.execute(query.group_by(resource_classes.c.name))
    }
    offered = {name: Inventory(name, total) for name, total in capacities.items()}
    return _resources(offered, used)


def traits_of(tx: Transaction, provider_id: int) -> Sequence[str]:
    """The names of a provider's traits."""
    query = select(traits.c.name).join(provider_traits, provider_traits.c.trait_id == traits.c.id)
    query = query.where(provider_traits.c.resource_provider_id == provider_id)
    return tx.scalars(query.order_by(traits.c.name)).all()


def aggregates_of(tx: Transaction, provider_id: int) -> Sequence[str]:
    """The UUIDs of a provider's aggregates."""
    query = select(aggregates.c.uuid).join(
        provider_aggregates, provider_aggregates.c.aggregate_id == aggregates.c.id
    )
    query = query.where(provider_aggregates.c.resource_provider_id == provider_id)
    return tx.scalars(query.order_by(aggregates.c.uuid)).all()


_INVENTORIES = select(
    inventories.c.resource_provider_id,
    resource_classes.c.name,
    inventories.c.total,
    inventories.c.reserved,
    inventories.c.min_unit,
    inventories.c.max_unit,
    inventories.c.step_size,
    inventories.c.allocation_ratio,
).join(resource_classes, resource_classes.c.id == inventories.c.resource_class_id)
_USED = (
    select(
        allocations.c.resource_provider_id,
        resource_classes.c.name,
        func.sum(allocations.c.used),
    )
    .join(resource_classes, resource_classes.c.id == allocations.c.resource_class_id)
    .group_by(allocations.c.resource_provider_id, resource_classes.c.name)
)


def _providers(tx: Transaction, query: Select[Any]) -> list[BrowsedProvider]:
    return [BrowsedProvider(*row) for row in tx.execute(query)]


def _resources(offered: Mapping[str, Inventory], used: Mapping[str, int]) -> Resources:
    return Resources(
        {
            name: InventoryWithUsage(inventory, used.get(name, 0))
            for name, inventory in sorted(offered.items())
        },
        {name: amount for name, amount in sorted(used.items()) if name not in offered},
    )
