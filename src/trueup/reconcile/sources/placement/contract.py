# SPDX-License-Identifier: Apache-2.0
"""What every reader of Placement offers, and the values that it returns. No SQL and no HTTP."""

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
    the owner of each consumer; None: they were not read. `written` says when an allocation of each
    provider was last written; only a database says it.
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
        """By UUID, all providers of the trees that contain one of these, without inventories."""

    def children(self, providers: Iterable[str]) -> frozenset[str]:
        """The providers whose parent is one of these, whatever their root."""

    def holders(self, providers: Iterable[str]) -> frozenset[str]:
        """The consumers with an allocation on one of these providers."""

    def faults(self, providers: Iterable[str]) -> tuple[LedgerFault, ...]:
        """What is wrong in the rows of at least these providers, as far as it can be seen."""

    def held_of(self, providers: Iterable[str]) -> dict[str, Amounts]:
        """What each consumer holds of these providers, by consumer; nothing of other providers."""

    def held(self, consumers: Iterable[str]) -> dict[str, Amounts]:
        """Everything that each of these consumers holds."""

    def owners(self, consumers: Iterable[str]) -> dict[str, Owner] | None:
        """The owner of each of these consumers that holds something; None: they were not read."""

    def written(self, providers: Iterable[str]) -> dict[str, datetime]:
        """When an allocation of each of these providers was last written; empty if not known."""

    def completed(self, trees: Mapping[str, Provider]) -> dict[str, Provider]:
        """All providers of these trees with inventories, and the providers that share with them."""


class LedgerDatabase(LedgerLookup, Protocol):
    """Placement's database, from which the whole ledger or parts of it can be read."""

    @property
    def address(self) -> str:
        """Where it is, without a password."""

    def ledger(self) -> Ledger:
        """The whole ledger, as of one moment."""

    def generations(self, providers: Iterable[str] | None = None) -> dict[str, int]:
        """The generations of these providers, or of those that changed most often."""

    def close(self) -> None: ...
