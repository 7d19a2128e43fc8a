# SPDX-License-Identifier: Apache-2.0
"""Sums over the ledger, which differ after a write that was not published.

Upstream's service on the same database, and manual changes, publish nothing. The database computes
the sums in one pass. They have weights, so that they differ after a move from one provider to
another. A move that the weights do not show is seen in the generations.
"""

from collections.abc import Mapping
from typing import Any

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
CAPACITY_MAX, LIMITS = 2.0**52, 8388593
"""What an inventory allows is one number: its capacity, which counts as this at most, plus its
units, modulo this prime. So no sum has more than 64 bits."""
MAX_UNIT, STEP_SIZE = 3, 7
"""By what the largest unit and the step size are multiplied in that number."""

Fingerprint = Mapping[tuple[str, int], int]
"""Sums by their name, and a resource class or 0; without those that are 0."""

GENERATION_SUMS = ("generations", "weighted generations")
TREE_SUMS = COUNT, *_PLACES = ("providers", "roots", "parents")
PROVIDER_SUMS = (COUNT, *GENERATION_SUMS, *_PLACES)
USED_SUMS = USED, WEIGHTED_USED = ("used", "weighted used")
MEMBER_SUMS = MEMBERS, WEIGHTED_MEMBERS = ("members", "weighted members")
INVENTORY_SUMS = LIMIT, WEIGHTED_LIMIT = ("limits", "weighted limits")
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
_capacity = (inventories.c.total - inventories.c.reserved) * inventories.c.allocation_ratio
_units: ColumnElement[int] = (
    cast(inventories.c.min_unit, BigInteger)
    + MAX_UNIT * cast(inventories.c.max_unit, BigInteger)
    + STEP_SIZE * cast(inventories.c.step_size, BigInteger)
)
_limit = (
    cast(func.round(case((_capacity < CAPACITY_MAX, _capacity), else_=CAPACITY_MAX)), BigInteger)
    + _units
) % LIMITS
_OF_INVENTORIES = select(
    inventories.c.resource_class_id,
    _total(_limit),
    _total(_weight(inventories.c.resource_provider_id) * _limit),
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
    for class_id, limit, weighted in tx.execute(_OF_INVENTORIES):
        sums[LIMIT, class_id], sums[WEIGHTED_LIMIT, class_id] = int(limit), int(weighted)
    having, weighted = tx.execute(_OF_TRAITS).one()
    sums[TRAITS, 0], sums[WEIGHTED_TRAITS, 0] = int(having), int(weighted)
    return {key: total for key, total in sums.items() if total}
