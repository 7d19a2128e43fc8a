# SPDX-License-Identifier: Apache-2.0
"""The ledger: everything that Placement holds, in whichever way it was read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from trueup.reconcile.facts import Amounts, Provider

SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"


@dataclass(frozen=True, slots=True)
class Ledger:
    """Providers, and amounts by consumer. `way` is how it was read: API, export or database."""

    providers: Mapping[str, Provider]
    consumers: Mapping[str, Amounts]
    way: str


def with_pools(
    providers: Iterable[Provider], members: Mapping[str, Iterable[str]]
) -> dict[str, Provider]:
    """Providers by uuid, where the pools share what they have with the trees of their members.

    `members` are, by the uuid of each sharing provider, those that have an aggregate in common
    with it; itself among them or not.
    """
    known = {row.uuid: row for row in providers}
    for pool in members.keys() & known.keys():
        roots = {known[one].root for one in members[pool] if one in known and one != pool}
        known[pool] = replace(known[pool], sharing=True, shares_with=frozenset(roots))
    return known


def members_of_pools(
    pools: Iterable[str], aggregates: Mapping[str, Iterable[str]]
) -> dict[str, set[str]]:
    """The providers that have an aggregate in common with each pool; `aggregates` by provider."""
    by_aggregate: dict[str, set[str]] = {}
    for provider, those in aggregates.items():
        for one in those:
            by_aggregate.setdefault(one, set()).add(provider)
    return {
        pool: set().union(*(by_aggregate[one] for one in aggregates.get(pool, ())))
        for pool in pools
    }
