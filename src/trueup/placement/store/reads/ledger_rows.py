# SPDX-License-Identifier: Apache-2.0
"""The rows that the index is built from, of all providers or of some.

PERF: a driver takes longer for a row than the database does, so equal rows come as one row with a
list of ids: for 10,000 hosts with 40 traits this takes a tenth of the time.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Select,
    String,
    bindparam,
    cast,
    func,
    select,
)

from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.engine.statements import ListStatement
from trueup.placement.store.packed_rows import neighbors, packed_group, rows_of
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

_BETWEEN = ","
_BITS = 10
"""A row has the values of 1024 providers."""

UsageRow = tuple[int, int, int]
"""The ids of a provider and of a resource class, and the usage. The inventory may be missing.

PERF: not a named tuple; there are three for each host, and that takes ten times as long.
"""


class ProviderRow(NamedTuple):
    """A provider with its root and its parent, by ids of the store."""

    id: int
    uuid: str
    root_id: int
    parent_id: int | None
    generation: int = 0


class InventoryRow(NamedTuple):
    """An inventory."""

    provider_id: int
    class_id: int
    total: int
    reserved: int
    allocation_ratio: float
    min_unit: int
    max_unit: int
    step_size: int


class Names(NamedTuple):
    """All names, with their ids."""

    class_ids: Mapping[str, int] = {}
    """Every resource class."""
    trait_ids: Mapping[str, int] = {}
    """Every trait."""


class LedgerRows(NamedTuple):
    """The ledger at one moment, or some of its providers."""

    names: Names
    providers: Sequence[ProviderRow] = ()
    inventories: Sequence[InventoryRow] = ()
    used: Sequence[UsageRow] = ()
    trait_sets: Mapping[int, tuple[int, ...]] = {}
    """Sorted ids of traits, by the id of the provider. Equal sets are one object."""
    aggregate_pairs: Sequence[tuple[int, int]] = ()
    """The ids of a provider and of one of its aggregates."""
    aggregate_uuids: Mapping[int, str] = {}
    """By id, of every aggregate that has a member."""


class ListCutOff(Exception):
    """The database truncated a list, because it limits the length of one value."""


class Usage(NamedTuple):
    """The usage of providers, and their generations at the same moment."""

    generations: Sequence[tuple[int, int]]
    """Pairs of a provider's id and its generation. Empty if they were not read."""
    used: Sequence[UsageRow]


class _Query(NamedTuple):
    """A query for all providers, and the same query for some."""

    of_all: Select[Any]
    of_some: Select[Any]

    def rows(self, tx: Transaction, ids: Collection[int] | None) -> Sequence[Any]:
        if ids is None:
            return tx.execute(self.of_all).all()
        return tx.execute(self.of_some, {"ids": list(ids)}).all() if ids else []


def _query(query: Select[Any], provider: Column[int]) -> _Query:
    return _Query(query, query.where(provider.in_(bindparam("ids", expanding=True))))


def _listed(first: ColumnElement[int], *others: ColumnElement[int]) -> tuple[Any, Any]:
    """The sum and the list of a group's numbers in these columns, row after row."""
    total: Any = cast(first, BigInteger)
    text: Any = cast(first, String(20))
    for other in others:
        total += cast(other, BigInteger)
        text = text + _BETWEEN + cast(other, String(20))
    listed = func.aggregate_strings(text, _BETWEEN)
    return func.sum(total).label("total"), listed.label("listed")


_lines_of_providers: tuple[Any, Any] = (
    func.sum(cast(providers.c.id, BigInteger)),
    packed_group(
        providers.c.id,
        providers.c.root_provider_id,
        providers.c.parent_provider_id,
        providers.c.generation,
        providers.c.uuid,
    ),
)
# PARITY: upstream ignores a provider without a root.
_PROVIDERS = _query(
    select(*_lines_of_providers)
    .where(providers.c.root_provider_id.is_not(None))
    .group_by(neighbors(providers.c.id, _BITS)),
    providers.c.id,
)
_kind_of_inventory = (
    inventories.c.resource_class_id,
    inventories.c.total,
    inventories.c.reserved,
    inventories.c.allocation_ratio,
    inventories.c.min_unit,
    inventories.c.max_unit,
    inventories.c.step_size,
)
_INVENTORIES = _query(
    select(*_listed(inventories.c.resource_provider_id), *_kind_of_inventory).group_by(
        *_kind_of_inventory
    ),
    inventories.c.resource_provider_id,
)
_used = select(
    allocations.c.resource_provider_id.label("provider"),
    allocations.c.resource_class_id.label("class"),
    # Some databases sum integers to decimals.
    cast(func.sum(allocations.c.used), BigInteger).label("used"),
).group_by(allocations.c.resource_provider_id, allocations.c.resource_class_id)


def _used_by_class(used: Select[Any]) -> Select[Any]:
    of = used.subquery("used_of").c
    return select(*_listed(of.provider, of.used), of["class"]).group_by(
        of["class"], neighbors(of.provider, _BITS)
    )


_some = allocations.c.resource_provider_id.in_(bindparam("ids", expanding=True))
_USED = _Query(_used_by_class(_used), _used_by_class(_used.where(_some)))
_GENERATIONS = select(*_listed(providers.c.id, func.coalesce(providers.c.generation, 0))).group_by(
    neighbors(providers.c.id, _BITS)
)
_USAGE_OF = ListStatement(
    "ids",
    lambda ids: (
        select(
            providers.c.id,
            providers.c.generation,
            allocations.c.resource_class_id,
            cast(func.sum(allocations.c.used), BigInteger),
        )
        .outerjoin(allocations, allocations.c.resource_provider_id == providers.c.id)
        .where(providers.c.id.in_(ids))
        .group_by(providers.c.id, providers.c.generation, allocations.c.resource_class_id)
    ),
)
_set_of_traits = _query(
    select(*_listed(provider_traits.c.trait_id), provider_traits.c.resource_provider_id).group_by(
        provider_traits.c.resource_provider_id
    ),
    provider_traits.c.resource_provider_id,
)


def _by_trait_set(sets: Select[Any]) -> Select[Any]:
    of = sets.subquery("set_of").c
    listed = _listed(of.resource_provider_id)
    return select(*listed, of.total, of.listed).group_by(of.total, of.listed)


_TRAIT_SETS = _Query(_by_trait_set(_set_of_traits.of_all), _by_trait_set(_set_of_traits.of_some))
_AGGREGATE_PAIRS = _query(
    select(
        *_listed(provider_aggregates.c.resource_provider_id), provider_aggregates.c.aggregate_id
    ).group_by(provider_aggregates.c.aggregate_id),
    provider_aggregates.c.resource_provider_id,
)
_AGGREGATES = select(aggregates.c.id, aggregates.c.uuid)
_NAMED_AGGREGATES = _AGGREGATES.where(aggregates.c.id.in_(bindparam("ids", expanding=True)))
_CLASSES = select(resource_classes.c.name, resource_classes.c.id)
_TRAITS = select(traits.c.name, traits.c.id)
_WITH_CLASSES = select(inventories.c.resource_provider_id).where(
    inventories.c.resource_class_id.in_(bindparam("ids", expanding=True))
)
_WITH_TRAITS = select(provider_traits.c.resource_provider_id).where(
    provider_traits.c.trait_id.in_(bindparam("ids", expanding=True))
)


def whole(tx: Transaction) -> LedgerRows:
    """The whole ledger; `tx` must be a snapshot, or the rows may contradict each other."""
    return _ledger_rows(tx, names(tx), None)


def of_providers(tx: Transaction, known: Names, ids: Collection[int]) -> LedgerRows:
    """The rows of these providers, where they exist; `known` has the names of the ledger."""
    return _ledger_rows(tx, known, ids)


def names(tx: Transaction) -> Names:
    """The present names of classes and traits."""
    return Names(_pairs(tx.execute(_CLASSES)), _pairs(tx.execute(_TRAITS)))


def providers_with(
    tx: Transaction, class_ids: Collection[int], trait_ids: Collection[int]
) -> set[int]:
    """The ids of the providers that have an inventory of these classes, or one of these traits."""
    found: set[int] = set()
    if class_ids:
        found.update(tx.scalars(_WITH_CLASSES, {"ids": list(class_ids)}))
    if trait_ids:
        found.update(tx.scalars(_WITH_TRAITS, {"ids": list(trait_ids)}))
    return found


def all_providers(tx: Transaction) -> list[ProviderRow]:
    """Every provider that has a root."""
    return _provider_rows(_PROVIDERS.rows(tx, None))


def all_members(tx: Transaction) -> list[tuple[int, int]]:
    """Pairs of the ids of a provider and of one of its aggregates."""
    return _aggregate_pairs(_AGGREGATE_PAIRS.rows(tx, None))


def all_usage(tx: Transaction) -> Usage:
    """The usage of every provider, without the generations."""
    return Usage((), _used_rows(tx, None))


def usage(tx: Transaction, ids: Collection[int] | None = None) -> Usage:
    """The usage of these providers, or of all."""
    if ids is None:
        return Usage(generations(tx), _used_rows(tx, None))
    found = _USAGE_OF.send(tx, {"ids": list(ids)}).rows
    return Usage(
        list({row[0]: row[1] or 0 for row in found}.items()),
        [(row[0], row[2], row[3]) for row in found if row[2] is not None],
    )


def generations(tx: Transaction) -> list[tuple[int, int]]:
    """The id of each provider, and its generation."""
    found: list[tuple[int, int]] = []
    for total, listed in tx.execute(_GENERATIONS):
        numbers = _numbers_in(listed, total)
        found += zip(numbers[::2], numbers[1::2], strict=True)
    return found


def _ledger_rows(tx: Transaction, known: Names, ids: Collection[int] | None) -> LedgerRows:
    pairs = _aggregate_pairs(_AGGREGATE_PAIRS.rows(tx, ids))
    return LedgerRows(
        names=known,
        providers=_provider_rows(_PROVIDERS.rows(tx, ids)),
        inventories=[
            InventoryRow(provider, *kind)
            for total, listed, *kind in _INVENTORIES.rows(tx, ids)
            for provider in _numbers_in(listed, total)
        ],
        used=_used_rows(tx, ids),
        trait_sets=_trait_sets(_TRAIT_SETS.rows(tx, ids)),
        aggregate_pairs=pairs,
        aggregate_uuids=_aggregate_uuids(tx, pairs, ids is None),
    )


def _provider_rows(rows: Iterable[Any]) -> list[ProviderRow]:
    """The providers in these rows. Raises ListCutOff."""
    found = []
    for total, text in rows:
        try:
            batch = [
                ProviderRow(
                    int(key), uuid, int(root), int(parent) if parent else None, int(generation or 0)
                )
                for key, root, parent, generation, uuid in rows_of([text], 5)
            ]
        except ValueError as error:
            raise ListCutOff from error
        _check_sum((row.id for row in batch), total)
        found += batch
    return found


def _aggregate_pairs(rows: Iterable[Any]) -> list[tuple[int, int]]:
    return [
        (provider, aggregate)
        for total, listed, aggregate in rows
        for provider in _numbers_in(listed, total)
    ]


def _aggregate_uuids(tx: Transaction, pairs: Iterable[Any], of_all: bool) -> dict[int, str]:
    wanted = {aggregate for _, aggregate in pairs}
    if not wanted:
        return {}
    found = tx.execute(_AGGREGATES if of_all else _NAMED_AGGREGATES, {"ids": list(wanted)})
    return {row.id: row.uuid for row in found if row.id in wanted}


def _used_rows(tx: Transaction, ids: Collection[int] | None) -> list[UsageRow]:
    rows: list[UsageRow] = []
    for total, listed, class_id in _USED.rows(tx, ids):
        numbers = _numbers_in(listed, total)
        rows += zip(numbers[::2], repeat(class_id), numbers[1::2])
    return rows


def _trait_sets(rows: Iterable[Any]) -> dict[int, tuple[int, ...]]:
    kept: dict[tuple[int, ...], tuple[int, ...]] = {}
    sets = {}
    for total_of_providers, listed_providers, total, listed in rows:
        found = tuple(sorted(_numbers_in(listed, total)))
        # The lists of equal sets may be in different orders.
        found = kept.setdefault(found, found)
        sets.update(dict.fromkeys(_numbers_in(listed_providers, total_of_providers), found))
    return sets


def _numbers_in(listed: str, total: int) -> list[int]:
    """A list as numbers. Raises ListCutOff."""
    numbers = list(map(int, filter(None, listed.split(_BETWEEN))))
    _check_sum(numbers, total)
    return numbers


def _check_sum(numbers: Iterable[int], total: int) -> None:
    # SAFETY: MariaDB only warns when it truncates a list.
    if sum(numbers) != total:
        raise ListCutOff


def _pairs(rows: Iterable[Any]) -> dict[str, int]:
    return {row.name: row.id for row in rows}
