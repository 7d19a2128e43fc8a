# SPDX-License-Identifier: Apache-2.0
"""The filtered list of providers: one query for all conditions together."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, ColumnElement, Integer, Select, and_, bindparam, func, select

from trueup.model.errors import ResourceClassNotFound, TraitNotFound
from trueup.model.names import MAX_INTEGER
from trueup.model.providers import ListedProviders
from trueup.model.requests import ProviderFilters
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.engine.statements import FixedStatement, ListStatement, filled, places
from trueup.placement.store.packed_rows import (
    columns_of,
    neighbors,
    numbers_of,
    packed_group,
    time_of,
)
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
    """Providers, and the time (UTC) of the latest change; None if it is unknown."""

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
_LISTED = select(packed_group(*_PARTS)).group_by(neighbors(providers.c.id, bits=7))
_UUIDS = ListStatement(
    "ids", lambda ids: select(providers.c.id, providers.c.uuid).where(providers.c.id.in_(ids))
)
_TRAITS, _AGGREGATES = "traits", "aggregates"

_JOINED_MAX = 6
"""How many conditions MariaDB may join: it tries their orders, which takes minutes for thirty."""


class _List(NamedTuple):
    """Ids of traits or UUIDs of aggregates, of which a provider must have one, or none."""

    kind: str
    is_wanted: bool
    values: Sequence[object]


class _ListShape(NamedTuple):
    """A list without its values: the number of placeholders instead."""

    kind: str
    is_wanted: bool
    places: int


class _Shape(NamedTuple):
    """The kinds of conditions of a request. Requests of one shape share one statement."""

    has_name: bool
    has_uuid: bool
    has_root: bool
    lists: tuple[_ListShape, ...]
    resources: int


def list_providers(tx: Transaction, filters: ProviderFilters) -> Listing:
    """The providers that meet all filters, in the order of their ids.

    Raises TraitNotFound or ResourceClassNotFound for a name that does not exist.
    """
    values: dict[str, Any] = {}
    # PARITY: an empty name or UUID is no filter.
    if filters.name:
        values["name"] = filters.name
    if filters.uuid:
        values["uuid"] = filters.uuid
    if filters.in_tree:
        member = of_uuid(tx, filters.in_tree)
        if member is None:
            return Listing()
        values["root"] = member.root_id
    ids = class_and_trait_names.ids_named(tx, _names(filters))
    lists = tuple(_add_lists(values, _lists(filters, ids.traits)))
    _add_resources(values, filters, ids.classes)
    shape = _Shape(
        has_name="name" in values,
        has_uuid="uuid" in values,
        has_root="root" in values,
        lists=lists,
        resources=len(filters.resources),
    )
    # PostgreSQL refuses to compare a column with a number out of its range.
    if any(amount > MAX_INTEGER for _, amount in filters.resources):
        return Listing()
    return _listing(tx, [text for (text,) in _statement(shape).send(tx, values).rows])


def _listing(tx: Transaction, texts: Iterable[str]) -> Listing:
    columns = columns_of(texts, len(_PARTS))
    ids, roots, parents, generations, times, uuids, names = columns
    known = dict(zip(ids, uuids, strict=True))
    above = {*roots, *parents} - known.keys() - {""}
    if above:
        found = _UUIDS.send(tx, {"ids": list(map(int, above))}).rows
        known |= {str(key): uuid for key, uuid in found}
    listed = ListedProviders(
        uuids,
        names,
        numbers_of(generations),
        list(map(known.get, roots)),
        list(map(known.get, parents)),
    )
    return Listing(listed, _latest(set(times)))


def _latest(times: Collection[str]) -> datetime | None:
    """The last of these times; None if there are none, or one is unknown."""
    return time_of(max(times)) if times and "" not in times else None


def _add_lists(values: dict[str, Any], lists: Iterable[_List]) -> Iterator[_ListShape]:
    for number, (kind, is_wanted, listed) in enumerate(lists):
        given = filled(_list_name(number), listed)
        values |= given
        yield _ListShape(kind, is_wanted, len(given))


def _names(filters: ProviderFilters) -> set[str]:
    """The names of all classes and traits in these filters."""
    classes = {name for name, _ in filters.resources}
    return classes.union(filters.forbidden, *filters.required)


def _lists(filters: ProviderFilters, trait_ids: Mapping[str, int]) -> Iterator[_List]:
    """The lists of these filters. Raises TraitNotFound."""
    names = [*(name for any_of in filters.required for name in sorted(any_of))]
    names += sorted(filters.forbidden)
    for name in names:
        if name not in trait_ids:
            raise TraitNotFound(name)
    for any_of in dict.fromkeys(filters.required):
        yield _List(_TRAITS, True, [trait_ids[name] for name in any_of])
    if filters.forbidden:
        yield _List(_TRAITS, False, [trait_ids[name] for name in filters.forbidden])
    for any_of in dict.fromkeys(filters.member_of):
        yield _List(_AGGREGATES, True, list(any_of))
    if filters.forbidden_aggregates:
        yield _List(_AGGREGATES, False, list(filters.forbidden_aggregates))


def _add_resources(
    values: dict[str, Any], filters: ProviderFilters, class_ids: Mapping[str, int]
) -> None:
    """Add the requested classes and amounts to the values. Raises ResourceClassNotFound."""
    for number, (name, amount) in enumerate(filters.resources):
        if name not in class_ids:
            raise ResourceClassNotFound(name)
        values[f"class{number}"], values[f"amount{number}"] = class_ids[name], amount


# PERF: building the statement took twice as long as the rest of a list with filters. Clients use a
# handful of shapes.
@lru_cache(maxsize=256)
def _statement(shape: _Shape) -> FixedStatement:
    """The statement for a shape; all values are parameters."""
    query = _LISTED
    if shape.has_name:
        query = query.where(providers.c.name == bindparam("name"))
    if shape.has_uuid:
        query = query.where(providers.c.uuid == bindparam("uuid"))
    if shape.has_root:
        query = query.where(providers.c.root_provider_id == bindparam("root"))
    for number, (kind, is_wanted, count) in enumerate(shape.lists):
        listed = places(_list_name(number), count)
        found = _with_trait(listed) if kind == _TRAITS else _members(listed)
        query = query.where(_is_among(found, is_wanted, is_joined=number < _JOINED_MAX))
    for number in range(shape.resources):
        is_joined = len(shape.lists) + number < _JOINED_MAX
        query = query.where(_is_among(_with_room(number), True, is_joined=is_joined))
    return FixedStatement(query)


def _list_name(number: int) -> str:
    return f"list{number}_"


def _is_among(
    found: Select[tuple[int]], is_wanted: bool, *, is_joined: bool
) -> ColumnElement[bool]:
    """Whether a provider is among these, or is not."""
    if is_joined:
        is_met = providers.c.id.in_(found)
        return is_met if is_wanted else ~is_met
    [key] = found.selected_columns
    counted = (
        found.with_only_columns(func.count(), maintain_column_froms=True)
        .where(key == providers.c.id)
        .correlate(providers)
    )
    return counted.scalar_subquery() > 0 if is_wanted else counted.scalar_subquery() == 0


def _with_trait(ids: Sequence[BindParameter[Any]]) -> Select[tuple[int]]:
    """The providers that have one of the traits of these parameters."""
    found = select(provider_traits.c.resource_provider_id)
    return found.where(provider_traits.c.trait_id.in_(ids))


def _members(uuids: Sequence[BindParameter[Any]]) -> Select[tuple[int]]:
    """The providers in one of the aggregates of these parameters."""
    joined = provider_aggregates.join(
        aggregates, provider_aggregates.c.aggregate_id == aggregates.c.id
    )
    found = select(provider_aggregates.c.resource_provider_id).select_from(joined)
    return found.where(aggregates.c.uuid.in_(uuids))


def _with_room(number: int) -> Select[tuple[int]]:
    """The providers with room for the amount of the class in these parameters."""
    class_id = bindparam(f"class{number}", type_=Integer)
    amount = bindparam(f"amount{number}", type_=Integer)
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
            amount % inventories.c.step_size == 0,
            used + amount <= limit,
        )
    )
