# SPDX-License-Identifier: Apache-2.0
"""The methods of every reader of Placement, and the values that they return. No SQL, no HTTP."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from trueup.reconcile.facts import Amounts, LedgerFault, Owner, Provider

SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"
# Called with the number of providers that have been read, and the number of all providers.
ProviderProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Ledger:
    """All providers, and the amounts that each consumer holds.

    `read_via` is `API`, `export` or `database`; only a database shows all `faults`. `owners` has
    the owner of each consumer; None: they were not read. `written` has the time of the last write
    of an allocation of each provider, which only a database shows.
    """

    providers: Mapping[str, Provider]
    consumers: Mapping[str, Amounts]
    read_via: str
    faults: tuple[LedgerFault, ...] = ()
    owners: Mapping[str, Owner] | None = None
    written: Mapping[str, datetime] = field(default_factory=dict)


class LedgerLookup(Protocol):
    """Reads parts of the ledger.

    Every method raises Unreachable or AccessDenied. `read_via` is as in `Ledger`. Providers and
    consumers that do not exist are left out of the answer.
    """

    read_via: str

    def trees(self, uuids: Iterable[str], names: Iterable[str]) -> dict[str, Provider]:
        """All providers of the trees with one of these, by UUID, without inventories."""

    def children(self, providers: Iterable[str]) -> frozenset[str]:
        """The providers whose parent is one of these, whatever their root."""

    def holders(self, providers: Iterable[str]) -> frozenset[str]:
        """The consumers with an allocation on one of these providers."""

    def faults(self, providers: Iterable[str]) -> tuple[LedgerFault, ...]:
        """The visible faults in the rows of at least these providers."""

    def held_of(self, providers: Iterable[str]) -> dict[str, Amounts]:
        """The allocations on these providers only, by consumer."""

    def held(self, consumers: Iterable[str]) -> dict[str, Amounts]:
        """All allocations of each of these consumers."""

    def owners(self, consumers: Iterable[str]) -> dict[str, Owner] | None:
        """The owners of those of these consumers that have allocations; None: not read."""

    def written(self, providers: Iterable[str]) -> dict[str, datetime]:
        """The last write of an allocation of each of these providers; empty if unknown."""

    def completed(self, trees: Mapping[str, Provider]) -> dict[str, Provider]:
        """All providers of these trees with inventories, and the providers that share with them."""


class LedgerDatabase(LedgerLookup, Protocol):
    """Placement's database, from which the whole ledger or parts of it can be read."""

    @property
    def address(self) -> str:
        """Its URL without the password."""

    def ledger(self) -> Ledger:
        """The whole ledger, as of one moment."""

    def generations(self, providers: Iterable[str] | None = None) -> dict[str, int]:
        """The generations of these providers; for None, of those that changed most often."""

    def close(self) -> None: ...
