# SPDX-License-Identifier: Apache-2.0
"""The list of providers, filtered: one query for all conditions together."""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Integer, Select, and_, false, func, literal, select

from trueup.model.errors import ResourceClassNotFound, TraitNotFound
from trueup.model.providers import Provider
from trueup.model.requests import AnyOf, ProviderFilters
from trueup.placement.store import vocabulary
from trueup.placement.store.database import Transaction
from trueup.placement.store.providers import columns, of_uuid, read
from trueup.placement.store.tables import (
    aggregates,
    allocations,
    inventories,
    provider_aggregates,
    provider_traits,
    providers,
)


def list_providers(tx: Transaction, filters: ProviderFilters) -> list[Provider]:
    """The providers that meet all filters, in the order of their ids.

    Raises TraitNotFound or ResourceClassNotFound for a name that does not exist.
    """
    query = columns().order_by(providers.c.id)
    # PARITY: an empty name or UUID is no filter.
    if filters.name:
        query = query.where(providers.c.name == filters.name)
    if filters.uuid:
        query = query.where(providers.c.uuid == filters.uuid)
    if filters.in_tree:
        member = of_uuid(tx, filters.in_tree)
        if member is None:
            return []
        query = query.where(providers.c.root_provider_id == member.root_id)
    query = _with_traits(tx, query, filters)
    query = _in_aggregates(query, filters)
    return read(tx, _with_room(tx, query, filters))


def _with_traits(tx: Transaction, query: Select[Any], filters: ProviderFilters) -> Select[Any]:
    names = [*(name for any_of in filters.required for name in sorted(any_of))]
    names += sorted(filters.forbidden)
    known = vocabulary.traits_named(tx, names)
    for name in names:
        if name not in known:
            raise TraitNotFound(name)
    ids = {name: word.id for name, word in known.items()}
    for any_of in filters.required:
        query = query.where(_has_trait(ids, any_of))
    if filters.forbidden:
        query = query.where(~_has_trait(ids, filters.forbidden))
    return query


def _has_trait(ids: Mapping[str, int], names: Iterable[str]) -> ColumnElement[bool]:
    found = select(provider_traits.c.resource_provider_id)
    return providers.c.id.in_(found.where(provider_traits.c.trait_id.in_([ids[n] for n in names])))


def _in_aggregates(query: Select[Any], filters: ProviderFilters) -> Select[Any]:
    for any_of in filters.member_of:
        query = query.where(_is_member(any_of))
    if filters.forbidden_aggregates:
        query = query.where(~_is_member(filters.forbidden_aggregates))
    return query


def _is_member(uuids: AnyOf) -> ColumnElement[bool]:
    if not uuids:
        return false()
    joined = provider_aggregates.join(
        aggregates, provider_aggregates.c.aggregate_id == aggregates.c.id
    )
    found = select(provider_aggregates.c.resource_provider_id).select_from(joined)
    return providers.c.id.in_(found.where(aggregates.c.uuid.in_(uuids)))


def _with_room(tx: Transaction, query: Select[Any], filters: ProviderFilters) -> Select[Any]:
    ids = vocabulary.class_ids(tx, [name for name, _ in filters.resources])
    for name, amount in filters.resources:
        if name not in ids:
            raise ResourceClassNotFound(name)
        query = query.where(providers.c.id.in_(_having_room(ids[name], amount)))
    return query


def _having_room(class_id: int, amount: int) -> Select[Any]:
    """The ids of the providers that could give this much of a class to one consumer."""
    used = (
        select(func.coalesce(func.sum(allocations.c.used), 0))
        .where(
            allocations.c.resource_provider_id == inventories.c.resource_provider_id,
            allocations.c.resource_class_id == class_id,
        )
        .correlate(inventories)
        .scalar_subquery()
    )
    limit = (inventories.c.total - inventories.c.reserved) * inventories.c.allocation_ratio
    return select(inventories.c.resource_provider_id).where(
        and_(
            inventories.c.resource_class_id == class_id,
            inventories.c.min_unit <= amount,
            inventories.c.max_unit >= amount,
            literal(amount, Integer) % inventories.c.step_size == 0,
            used + amount <= limit,
        )
    )
