# SPDX-License-Identifier: Apache-2.0
"""Looks up parts of a ledger that was read as a whole."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cached_property

from trueup.reconcile.facts import Amounts, LedgerFault, Owner, Provider, grouped, within_trees
from trueup.reconcile.sources.placement.contract import Ledger


class LoadedLedger:
    """A LedgerLookup in memory."""

    def __init__(self, ledger: Ledger) -> None:
        self.read_via = ledger.read_via
        self._ledger = ledger

    def trees(self, uuids: Iterable[str], names: Iterable[str]) -> dict[str, Provider]:
        known, wanted = self._ledger.providers, frozenset(names)
        roots = {known[uuid].root for uuid in uuids if uuid in known}
        roots |= {row.root for row in known.values() if row.name in wanted}
        return {uuid: row for uuid, row in known.items() if row.root in roots}

    def children(self, providers: Iterable[str]) -> frozenset[str]:
        return frozenset(
            uuid for provider in providers for uuid in self._children.get(provider, ())
        )

    def holders(self, providers: Iterable[str]) -> frozenset[str]:
        return frozenset(who for provider in providers for who in self._holders.get(provider, ()))

    def faults(self, providers: Iterable[str]) -> tuple[LedgerFault, ...]:
        return self._ledger.faults

    def held_of(self, providers: Iterable[str]) -> dict[str, Amounts]:
        wanted = frozenset(providers)
        return {
            who: {
                uuid: held for uuid, held in self._ledger.consumers[who].items() if uuid in wanted
            }
            for who in self.holders(wanted)
        }

    def held(self, consumers: Iterable[str]) -> dict[str, Amounts]:
        known = self._ledger.consumers
        return {uuid: known[uuid] for uuid in consumers if uuid in known}

    def owners(self, consumers: Iterable[str]) -> dict[str, Owner] | None:
        known = self._ledger.owners
        if known is None:
            return None
        return {uuid: known[uuid] for uuid in consumers if uuid in known}

    def written(self, providers: Iterable[str]) -> dict[str, datetime]:
        known = self._ledger.written
        return {uuid: known[uuid] for uuid in providers if uuid in known}

    def completed(self, trees: Mapping[str, Provider]) -> dict[str, Provider]:
        roots = frozenset(row.root for row in trees.values())
        return within_trees(self._ledger.providers, roots)

    @cached_property
    def _children(self) -> Mapping[str, tuple[str, ...]]:
        every = self._ledger.providers.values()
        return grouped((row.parent, row.uuid) for row in every if row.parent)

    @cached_property
    def _holders(self) -> Mapping[str, tuple[str, ...]]:
        held = self._ledger.consumers.items()
        return grouped((provider, who) for who, amounts in held for provider in amounts)


class EmptyLedger(LoadedLedger):
    """An empty LedgerDatabase, for a cloud whose Placement database is lost."""

    address = "no database"

    def __init__(self) -> None:
        self._nothing = Ledger({}, {}, "nothing", owners={})
        super().__init__(self._nothing)

    def ledger(self) -> Ledger:
        return self._nothing

    def close(self) -> None:
        pass

    def generations(self, providers: Iterable[str] | None = None) -> dict[str, int]:
        return {}
