# SPDX-License-Identifier: Apache-2.0
"""What every reader of Placement offers, and the values that it returns. No SQL and no HTTP."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from trueup.reconcile.facts import Amounts, Provider

SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"
# Is called with how many providers have been read, and of how many.
ProviderProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Ledger:
    """All providers, and the amounts that each consumer holds.

    `read_via` is `API`, `export` or `database`.
    """

    providers: Mapping[str, Provider]
    consumers: Mapping[str, Amounts]
    read_via: str


class LedgerLookup(Protocol):
    """Reads selected parts of the ledger, for those who do not need all of it.

    Every method raises Unreachable or AccessDenied. `read_via` is as in `Ledger`. What does not
    exist is left out of the answer.
    """

    read_via: str

    def trees(self, uuids: Iterable[str], names: Iterable[str]) -> dict[str, Provider]:
        """All providers, by uuid, of the trees that contain one of these, without inventories."""

    def holders(self, providers: Iterable[str]) -> frozenset[str]:
        """The consumers that hold something of one of these providers."""

    def held(self, consumers: Iterable[str]) -> dict[str, Amounts]:
        """Everything that each of these consumers holds."""

    def completed(self, trees: Mapping[str, Provider]) -> dict[str, Provider]:
        """The providers of whole trees with inventories, and the providers that share with them."""


class LedgerDatabase(LedgerLookup, Protocol):
    """Placement's database, which gives the whole ledger as well as parts."""

    def ledger(self) -> Ledger:
        """The whole ledger, as of one moment."""

    def close(self) -> None: ...
