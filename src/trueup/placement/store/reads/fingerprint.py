# SPDX-License-Identifier: Apache-2.0
"""Sums over the ledger, which differ after a write that was not published.

Upstream's service on the same database, and manual changes, publish nothing. The database computes
the sums in one pass. They have weights, so that they differ after a move from one provider to
another. A move that the weights do not show is seen in the sums of the generations.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from sqlalchemy import BigInteger, ColumnElement, case, cast, func, select

from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.tables import (
    allocations,
    inventories,
    provider_aggregates,
    provider_traits,
    providers,
)

WEIGHTS = 8191
"""The weight of a provider is the square of its id, modulo this prime."""
MARKS = 8388593
"""The mark of an inventory is one number made of all that it allows, modulo this prime."""
RATIO_MAX = 1e6
"""A larger allocation ratio counts as this one in a mark."""

_Number = TypeVar("_Number", bound=Any)

Fingerprint = Mapping[tuple[str, int], int]
"""Sums by their name, and a resource class or 0; without those that are 0."""

GENERATION_SUMS = ("generations", "weighted generations")
TREE_SUMS = COUNT, *_PLACES = ("providers", "roots", "parents")
PROVIDER_SUMS = (COUNT, *GENERATION_SUMS, *_PLACES)
USED_SUMS = USED, WEIGHTED_USED = ("used", "weighted used")
MEMBER_SUMS = MEMBERS, WEIGHTED_MEMBERS = ("members", "weighted members")
INVENTORY_SUMS = MARKED, WEIGHTED_MARKED = ("marks", "weighted marks")
TRAIT_SUMS = TRAITS, WEIGHTED_TRAITS = ("traits", "weighted traits")


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
# PERF: adding up what each provider gives first spares a weight for each of fifty consumers.
_given = (
    select(
        allocations.c.resource_provider_id.label("provider"),
        allocations.c.resource_class_id.label("class"),
        func.sum(allocations.c.used).label("used"),
    )
    .group_by(allocations.c.resource_provider_id, allocations.c.resource_class_id)
    .subquery("given")
)
_OF_USED = select(
    _given.c["class"], _total(_given.c.used), _total(_weight(_given.c.provider) * _given.c.used)
).group_by(_given.c["class"])
_OF_MEMBERS = select(
    func.count(),
    _total(
        _weight(provider_aggregates.c.resource_provider_id) * provider_aggregates.c.aggregate_id
    ),
).select_from(provider_aggregates)


def mark(
    total: _Number,
    reserved: _Number,
    thousandths: _Number,
    min_unit: _Number,
    max_unit: _Number,
    step_size: _Number,
) -> _Number:
    """The mark of inventories: columns of the database, or of a view. All have 64 bits.

    `thousandths` are those of the allocation ratio: a product with the ratio itself differs by what
    a database and Python round.
    """
    marked: _Number = (
        total
        + 104729 * reserved
        + 49979687 * thousandths
        + 1299709 * min_unit
        + 15485863 * max_unit
        + 32452843 * step_size
    ) % MARKS
    return marked


_ratio = inventories.c.allocation_ratio
_thousandths = func.round(case((_ratio < RATIO_MAX, _ratio), else_=RATIO_MAX) * 1000)
_mark = mark(
    cast(inventories.c.total, BigInteger),
    cast(inventories.c.reserved, BigInteger),
    cast(_thousandths, BigInteger),
    cast(inventories.c.min_unit, BigInteger),
    cast(inventories.c.max_unit, BigInteger),
    cast(inventories.c.step_size, BigInteger),
)
_OF_INVENTORIES = select(
    inventories.c.resource_class_id,
    _total(_mark),
    _total(_weight(inventories.c.resource_provider_id) * _mark),
).group_by(inventories.c.resource_class_id)
# PERF: a product for each trait, and not for each of the forty that a provider has.
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


def fingerprint(tx: Transaction) -> Fingerprint:
    """The sums of this moment."""
    sums = {
        (name, 0): int(total)
        for name, total in zip(PROVIDER_SUMS, tx.execute(_OF_PROVIDERS).one(), strict=True)
    }
    for class_id, used, weighted in tx.execute(_OF_USED):
        sums[USED, class_id], sums[WEIGHTED_USED, class_id] = int(used), int(weighted)
    members, weighted = tx.execute(_OF_MEMBERS).one()
    sums[MEMBERS, 0], sums[WEIGHTED_MEMBERS, 0] = int(members), int(weighted)
    for class_id, marked, weighted in tx.execute(_OF_INVENTORIES):
        sums[MARKED, class_id], sums[WEIGHTED_MARKED, class_id] = int(marked), int(weighted)
    having, weighted = tx.execute(_OF_TRAITS).one()
    sums[TRAITS, 0], sums[WEIGHTED_TRAITS, 0] = int(having), int(weighted)
    return {key: total for key, total in sums.items() if total}
