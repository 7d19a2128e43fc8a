# SPDX-License-Identifier: Apache-2.0
"""The list of providers, filtered: one query for all conditions together."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    and_,
    bindparam,
    false,
    func,
    literal,
    select,
)

from trueup.model.errors import ResourceClassNotFound, TraitNotFound
from trueup.model.names import MAX_INTEGER
from trueup.model.providers import ListedProviders
from trueup.model.requests import AnyOf, ProviderFilters
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.packed_rows import joined, rows_of, time_of
from trueup.placement.store.rows import class_and_trait_names
from trueup.placement.store.rows.providers import of_uuid
from trueup.placement.store.tables import (
    aggregates,
    allocations,
    inventories,
    provider_aggregates,
    provider_traits,
    providers,
)


class Listing(NamedTuple):
    """Providers, and the latest time (UTC) at which one of them changed; None: just now."""

    providers: ListedProviders = ListedProviders()
    modified_at: datetime | None = None


_PARTS = (
    providers.c.id,
    providers.c.root_provider_id,
    providers.c.parent_provider_id,
    providers.c.generation,
    func.coalesce(providers.c.updated_at, providers.c.created_at),
    providers.c.uuid,
    providers.c.name,
)
_ROWS_AT_ONCE = 128
_LISTED = select(joined(*_PARTS)).group_by(providers.c.id // _ROWS_AT_ONCE)
_UUIDS = select(providers.c.id, providers.c.uuid).where(
    providers.c.id.in_(bindparam("ids", expanding=True))
)


def list_providers(tx: Transaction, filters: ProviderFilters) -> Listing:
    """The providers that meet all filters, in the order of their ids.

    Raises TraitNotFound or ResourceClassNotFound for a name that does not exist.
    """
    query = _LISTED
    # PARITY: an empty name or UUID is no filter.
    if filters.name:
        query = query.where(providers.c.name == filters.name)
    if filters.uuid:
        query = query.where(providers.c.uuid == filters.uuid)
    if filters.in_tree:
        member = of_uuid(tx, filters.in_tree)
        if member is None:
            return Listing()
        query = query.where(providers.c.root_provider_id == member.root_id)
    query = _with_traits(tx, query, filters)
    query = _in_aggregates(query, filters)
    return _listing(tx, tx.scalars(_with_room(tx, query, filters)))


def _listing(tx: Transaction, texts: Iterable[str]) -> Listing:
    rows = rows_of(texts, len(_PARTS))
    if not rows:
        return Listing()
    ids, roots, parents, generations, times, uuids, names = zip(*rows, strict=True)
    known = dict(zip(ids, uuids, strict=True))
    above = {*roots, *parents} - known.keys() - {""}
    if above:
        known |= {
            str(row.id): row.uuid for row in tx.execute(_UUIDS, {"ids": list(map(int, above))})
        }
    listed = ListedProviders(
        uuids,
        names,
        [int(generation) for generation in generations],
        [known.get(root) for root in roots],
        [known.get(parent) for parent in parents],
    )
    return Listing(listed, _latest(set(times)))


def _latest(times: Collection[str]) -> datetime | None:
    """The last of these times; None if one of them is not known, or there is none."""
    return time_of(max(times)) if times and "" not in times else None


def _with_traits(tx: Transaction, query: Select[Any], filters: ProviderFilters) -> Select[Any]:
    names = [*(name for any_of in filters.required for name in sorted(any_of))]
    names += sorted(filters.forbidden)
    known = class_and_trait_names.traits_named(tx, names)
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
    ids = class_and_trait_names.class_ids(tx, [name for name, _ in filters.resources])
    for name, amount in filters.resources:
        if name not in ids:
            raise ResourceClassNotFound(name)
        # PostgreSQL fails when a number is compared that no column can have.
        room = providers.c.id.in_(_having_room(ids[name], amount))
        query = query.where(room if amount <= MAX_INTEGER else false())
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
