# SPDX-License-Identifier: Apache-2.0
"""A sharing provider shares its inventory with the trees that have an aggregate in common."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from trueup.reconcile.facts import Provider


def with_sharing(
    providers: Iterable[Provider], members: Mapping[str, Iterable[str]]
) -> dict[str, Provider]:
    """Providers by UUID, with `sharing` and `shares_with` filled in.

    `members` maps the UUID of each sharing provider to the providers that have an aggregate in
    common with it. These may include the sharing provider itself.
    """
    known = {row.uuid: row for row in providers}
    for uuid in members.keys() & known.keys():
        roots = {
            known[member].root for member in members[uuid] if member in known and member != uuid
        }
        known[uuid] = replace(known[uuid], sharing=True, shares_with=frozenset(roots))
    return known


def with_traits(
    providers: Iterable[Provider], marked: Mapping[str, frozenset[str]]
) -> list[Provider]:
    """The same providers with their traits; `marked` maps each trait to the providers with it."""
    return [
        replace(row, traits=frozenset(name for name, uuids in marked.items() if row.uuid in uuids))
        for row in providers
    ]


def members_of_sharing(
    sharing: Iterable[str], aggregates: Mapping[str, Iterable[str]]
) -> dict[str, set[str]]:
    """For each sharing provider, the providers that have an aggregate in common with it.

    `aggregates` maps the UUID of each provider to its aggregates.
    """
    by_aggregate: dict[str, set[str]] = {}
    for provider, its_aggregates in aggregates.items():
        for aggregate in its_aggregates:
            by_aggregate.setdefault(aggregate, set()).add(provider)
    return {
        uuid: set().union(*(by_aggregate[aggregate] for aggregate in aggregates.get(uuid, ())))
        for uuid in sharing
    }
