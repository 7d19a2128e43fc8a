# SPDX-License-Identifier: Apache-2.0
"""Sums over the ledger, which differ after a write that was not published.

Upstream's service on the same database, and manual changes, publish nothing. The database computes
the sums in one pass. They have weights, so that they differ after a move from one provider to
another. A move that the weights do not show changes the sums of the generations.

Allocations have no sum. PERF: adding them up takes as long as reading the usage of each provider.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, case, cast, func, select

from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.tables import (
    inventories,
    provider_aggregates,
    provider_traits,
    providers,
)

WEIGHTS = 8191
"""The weight of a provider is the square of its id, modulo this prime."""
MARKS = 8388593
"""The mark of an inventory is one number made of all its amounts, modulo this prime."""
_FACTORS = (86028121, 1, 104729, 49979687, 1299709, 15485863, 32452843)
RATIO_MAX = 1e6
"""A larger allocation ratio counts as this one in a mark."""

Fingerprint = Mapping[str, int]
"""Every sum, by its name."""

GENERATION_SUMS = ("generations", "weighted generations")
TREE_SUMS = COUNT, *_PLACES = ("providers", "roots", "parents")
PROVIDER_SUMS = (COUNT, *GENERATION_SUMS, *_PLACES)
MEMBER_SUMS = ("members", "weighted members")
INVENTORY_SUMS = ("marks", "weighted marks")
TRAIT_SUMS = ("traits", "weighted traits")


def _weight(column: ColumnElement[int]) -> ColumnElement[int]:
    number = cast(column, BigInteger)
    return number * number % WEIGHTS


def _total(amount: ColumnElement[int]) -> ColumnElement[Any]:
    return func.coalesce(func.sum(amount), 0)


_weight_of_provider = _weight(providers.c.id)
_OF_PROVIDERS = select(
    func.count(),
    _total(providers.c.generation),
    _total(_weight_of_provider * providers.c.generation),
    _total(_weight_of_provider * providers.c.root_provider_id),
    _total(_weight_of_provider * func.coalesce(providers.c.parent_provider_id, 0)),
).where(providers.c.root_provider_id.is_not(None))
_OF_MEMBERS = select(
    func.count(),
    _total(
        _weight(provider_aggregates.c.resource_provider_id) * provider_aggregates.c.aggregate_id
    ),
).select_from(provider_aggregates)


def mark(*columns: Any) -> Any:
    """The mark of inventories, from columns of the database or of a view, which have 64 bits.

    They are the id of the class, total, reserved, thousandths of the allocation ratio, min_unit,
    max_unit and step_size. The ratio itself would be rounded differently by a database and Python.
    """
    return sum(factor * column for factor, column in zip(_FACTORS, columns, strict=True)) % MARKS


_ratio = inventories.c.allocation_ratio
_thousandths = func.round(case((_ratio < RATIO_MAX, _ratio), else_=RATIO_MAX) * 1000)
_mark = mark(
    cast(inventories.c.resource_class_id, BigInteger),
    cast(inventories.c.total, BigInteger),
    cast(inventories.c.reserved, BigInteger),
    cast(_thousandths, BigInteger),
    cast(inventories.c.min_unit, BigInteger),
    cast(inventories.c.max_unit, BigInteger),
    cast(inventories.c.step_size, BigInteger),
)
_OF_INVENTORIES = select(_total(_mark), _total(_weight(inventories.c.resource_provider_id) * _mark))
# PERF: one product for each trait, not for each trait of each provider.
_having = (
    select(
        provider_traits.c.trait_id.label("trait"),
        func.count().label("count"),
        func.sum(cast(provider_traits.c.resource_provider_id, BigInteger)).label("providers"),
    )
    .group_by(provider_traits.c.trait_id)
    .subquery("having")
)
_OF_TRAITS = select(_total(_having.c.count), _total(_having.c.trait * _having.c.providers))


_SUMS = {
    PROVIDER_SUMS: _OF_PROVIDERS,
    MEMBER_SUMS: _OF_MEMBERS,
    INVENTORY_SUMS: _OF_INVENTORIES,
    TRAIT_SUMS: _OF_TRAITS,
}


def fingerprint(tx: Transaction) -> Fingerprint:
    """The sums of this moment."""
    return {
        name: int(total)
        for names, query in _SUMS.items()
        for name, total in zip(names, tx.execute(query).one(), strict=True)
    }
