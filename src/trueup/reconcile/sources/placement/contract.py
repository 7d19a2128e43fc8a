# SPDX-License-Identifier: Apache-2.0
"""The ledger: everything that Placement holds, or parts of it, in whichever way it was read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from trueup.reconcile.facts import Amounts, Provider, grouped, within_trees

SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"


@dataclass(frozen=True, slots=True)
class Ledger:
    """Providers, and the amounts that each consumer holds.

    `read_via` is `API`, `export` or `database`.
    """

    providers: Mapping[str, Provider]
    consumers: Mapping[str, Amounts]
    read_via: str


class LedgerParts(Protocol):
    """What can be asked of the ledger by those who need not all of it.

    Every method raises Unreachable or AccessDenied. `read_via` is as in `Ledger`. What does not
    exist is left out of the answer.
    """

    read_via: str

    def trees(self, uuids: Iterable[str], names: Iterable[str]) -> dict[str, Provider]:
        """All providers of the trees that one of these is in, by uuid; what they have is not."""

    def holders(self, providers: Iterable[str]) -> frozenset[str]:
        """The consumers that hold something of one of these providers."""

    def held(self, consumers: Iterable[str]) -> dict[str, Amounts]:
        """All that each of these consumers holds."""

    def completed(self, trees: Mapping[str, Provider]) -> dict[str, Provider]:
        """Whole trees with what they have, and the pools that share with them."""


class WholeLedger:
    """The parts of a ledger that was read as a whole."""

    def __init__(self, ledger: Ledger) -> None:
        self.read_via = ledger.read_via
        self._ledger = ledger

    def trees(self, uuids: Iterable[str], names: Iterable[str]) -> dict[str, Provider]:
        known, called = self._ledger.providers, frozenset(names)
        roots = {known[uuid].root for uuid in uuids if uuid in known}
        roots |= {row.root for row in known.values() if row.name in called}
        return {uuid: row for uuid, row in known.items() if row.root in roots}

    def holders(self, providers: Iterable[str]) -> frozenset[str]:
        return frozenset(who for one in providers for who in self._holders.get(one, ()))

    def held(self, consumers: Iterable[str]) -> dict[str, Amounts]:
        known = self._ledger.consumers
        return {uuid: known[uuid] for uuid in consumers if uuid in known}

    def completed(self, trees: Mapping[str, Provider]) -> dict[str, Provider]:
        roots = frozenset(row.root for row in trees.values())
        return within_trees(self._ledger.providers, roots)

    @cached_property
    def _holders(self) -> Mapping[str, tuple[str, ...]]:
        held = self._ledger.consumers.items()
        return grouped((provider, who) for who, amounts in held for provider in amounts)


def with_sharing(
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


def members_of_sharing(
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
