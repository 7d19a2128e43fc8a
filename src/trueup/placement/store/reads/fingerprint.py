# SPDX-License-Identifier: Apache-2.0
"""Sums over the ledger, which differ after a write that was not published.

Upstream's service on the same database, and manual changes, publish nothing. The database computes
the sums in one pass. They have weights, so that they differ after a move from one provider to
another. A move that the weights do not show is seen in the generations.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, cast, func, select

from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.tables import allocations, provider_aggregates, providers

WEIGHTS = 8191
"""The weight of a provider is the square of its id, modulo this prime."""

Fingerprint = Mapping[tuple[str, int], int]
"""Sums by their name, and a resource class or 0; without those that are 0."""

GENERATION_SUMS = ("generations", "weighted generations")
TREE_SUMS = COUNT, *_PLACES = ("providers", "roots", "parents")
PROVIDER_SUMS = (COUNT, *GENERATION_SUMS, *_PLACES)
USED_SUMS = USED, WEIGHTED_USED = ("used", "weighted used")
MEMBER_SUMS = MEMBERS, WEIGHTED_MEMBERS = ("members", "weighted members")


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
    return {key: total for key, total in sums.items() if total}
