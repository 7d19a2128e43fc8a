# SPDX-License-Identifier: Apache-2.0
"""Which trees a sharing provider shares its inventory with: those with a common aggregate."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from trueup.reconcile.facts import Provider


def with_sharing(
    providers: Iterable[Provider], members: Mapping[str, Iterable[str]]
) -> dict[str, Provider]:
    """Providers by uuid, with `sharing` and `shares_with` set where they apply.

    `members` has, for the uuid of each sharing provider, the providers that have an aggregate in
    common with it. It may contain the sharing provider itself.
    """
    known = {row.uuid: row for row in providers}
    for uuid in members.keys() & known.keys():
        roots = {known[one].root for one in members[uuid] if one in known and one != uuid}
        known[uuid] = replace(known[uuid], sharing=True, shares_with=frozenset(roots))
    return known


def members_of_sharing(
    sharing: Iterable[str], aggregates: Mapping[str, Iterable[str]]
) -> dict[str, set[str]]:
    """The providers that have an aggregate in common with each sharing provider.

    `aggregates` has the aggregates of each provider, by its uuid.
    """
    by_aggregate: dict[str, set[str]] = {}
    for provider, its_aggregates in aggregates.items():
        for one in its_aggregates:
            by_aggregate.setdefault(one, set()).add(provider)
    return {
        uuid: set().union(*(by_aggregate[one] for one in aggregates.get(uuid, ())))
        for uuid in sharing
    }
