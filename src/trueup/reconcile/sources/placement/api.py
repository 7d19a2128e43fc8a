# SPDX-License-Identifier: Apache-2.0
"""Reads parts of the ledger over Placement's API: a request for each consumer, provider or tree."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import quote

from trueup.reconcile.facts import (
    Amounts,
    LedgerFault,
    Owner,
    Provider,
    canonical_uuid,
    grouped,
    is_uuid,
    within_trees,
)
from trueup.reconcile.sources.placement import documents
from trueup.reconcile.sources.placement.contract import SHARING_TRAIT
from trueup.reconcile.sources.placement.sharing import members_of_sharing, with_sharing
from trueup.reconcile.sources.placement.usages import unlisted
from trueup.reconcile.threads import threads

API = "API"
# PERF: more threads only wait for each other, here and in the service.
PARALLEL_REQUESTS = 8
_PROVIDERS = "/resource_providers"

Asked = TypeVar("Asked")
Found = TypeVar("Found")


class LedgerApi:
    """A LedgerLookup over the API; each part is as of the moment when it is read.

    `found` returns the document at a path, or None if there is none. It raises Unreachable or
    AccessDenied.
    """

    read_via: str = API

    def __init__(self, found: Callable[[str], Any]) -> None:
        self._found = found
        # Placement returns the owner with the allocations of a consumer: one request gives both.
        self._owners: dict[str, Owner] = {}
        # The allocations of providers, as read: they are compared with the usages.
        self._allocations: dict[str, Any] = {}
        # Every provider by uuid, once all were listed.
        self._every: dict[str, Provider] | None = None

    def trees(self, uuids: Iterable[str], names: Iterable[str]) -> dict[str, Provider]:
        """As `LedgerLookup.trees`. Placement refuses a search with text that is not a UUID."""
        known = self._trees(uuid for uuid in frozenset(uuids) if is_uuid(uuid))
        # The names of providers are unique.
        unseen = frozenset(names) - {row.name for row in known.values()}
        listed = self._each(lambda name: self._listed(f"?name={quote(name, safe='')}"), unseen)
        named = {row.uuid: row for rows in listed.values() for row in rows}
        roots = {row.root for row in named.values()} - known.keys()
        return named | known | self._trees(roots)

    def children(self, providers: Iterable[str]) -> frozenset[str]:
        """As `LedgerLookup.children`. Placement cannot search for a parent: all are listed once."""
        wanted = frozenset(providers)
        if not wanted:
            return wanted
        return frozenset(uuid for uuid, row in self._all().items() if row.parent in wanted)

    def holders(self, providers: Iterable[str]) -> frozenset[str]:
        return frozenset().union(*self._each(self._allocations_of, providers).values())

    def faults(self, providers: Iterable[str]) -> tuple[LedgerFault, ...]:
        found = self._each(
            lambda uuid: unlisted(uuid, self._found, self._allocations.get(uuid)), providers
        )
        return tuple(fault for uuid in sorted(found) for fault in found[uuid])

    def held_of(self, providers: Iterable[str]) -> dict[str, Amounts]:
        by_consumer: dict[str, dict[str, Mapping[str, int]]] = {}
        for provider, held in self._each(self._allocations_of, providers).items():
            for consumer, amounts in held.items():
                by_consumer.setdefault(consumer, {})[provider] = amounts
        return dict(by_consumer)

    def held(self, consumers: Iterable[str]) -> dict[str, Amounts]:
        every = self._each(self._held, consumers)
        held = {consumer: amounts for consumer, amounts in every.items() if amounts}
        forms = grouped((canonical_uuid(written), written) for written in held)
        doubtful = {form for same in forms.values() if len(same) > 1 for form in same}
        return {
            consumer: amounts
            for consumer, amounts in held.items()
            if consumer not in doubtful or self._lists(consumer, amounts)
        }

    def owners(self, consumers: Iterable[str]) -> dict[str, Owner]:
        wanted = frozenset(consumers)
        self._each(self._held, wanted - self._owners.keys())
        return {uuid: self._owners[uuid] for uuid in wanted & self._owners.keys()}

    def written(self, providers: Iterable[str]) -> dict[str, datetime]:
        return {}

    def completed(self, trees: Mapping[str, Provider]) -> dict[str, Provider]:
        """As `LedgerLookup.completed`."""
        pools = {row.uuid: row for row in self._listed(f"?required={SHARING_TRAIT}")}
        known = {**pools, **trees}
        aggregates = self._each(self._aggregates, known)
        traits = self._each(self._traits, known)
        roots = frozenset(row.root for row in trees.values())
        sharing = with_sharing(known.values(), members_of_sharing(pools, aggregates))
        near = within_trees(sharing, roots)
        stocks = self._each(
            lambda uuid: self._found(f"{_PROVIDERS}/{uuid}/inventories"), near.keys()
        )
        return {
            uuid: replace(
                row,
                inventories=documents.inventories(stocks[uuid]),
                traits=traits[uuid],
                aggregates=frozenset(aggregates[uuid]),
            )
            for uuid, row in near.items()
            # A missing provider was deleted after it was listed.
            if stocks[uuid] is not None
        }

    def _lists(self, consumer: str, amounts: Amounts) -> bool:
        """Whether a provider lists a consumer in this form.

        A server that compares without case returns the same allocations for every form.
        """
        return any(consumer in self._allocations_of(provider) for provider in amounts)

    def _trees(self, uuids: Iterable[str]) -> dict[str, Provider]:
        trees = self._each(lambda uuid: self._listed(f"?in_tree={uuid}"), uuids)
        return {row.uuid: row for rows in trees.values() for row in rows}

    def _all(self) -> dict[str, Provider]:
        """Every provider, as of the first listing."""
        if self._every is None:
            self._every = {row.uuid: row for row in self._listed("")}
        return self._every

    def _listed(self, query: str) -> list[Provider]:
        return documents.providers(self._found(_PROVIDERS + query))

    def _allocations_of(self, provider: str) -> Amounts:
        answer = self._found(f"{_PROVIDERS}/{provider}/allocations")
        self._allocations[provider] = answer
        return {} if answer is None else documents.allocations(answer)

    def _held(self, consumer: str) -> Amounts:
        answer = self._found(f"/allocations/{quote(consumer, safe='')}")
        held = {} if answer is None else documents.allocations(answer)
        if held:
            self._owners[consumer] = documents.owner(answer)
        return held

    def _traits(self, provider: str) -> frozenset[str]:
        answer = self._found(f"{_PROVIDERS}/{provider}/traits")
        return frozenset() if answer is None else documents.traits(answer)

    def _aggregates(self, provider: str) -> tuple[str, ...]:
        answer = self._found(f"{_PROVIDERS}/{provider}/aggregates")
        return () if answer is None else documents.aggregates(answer)

    def _each(self, ask: Callable[[Asked], Found], wanted: Iterable[Asked]) -> dict[Asked, Found]:
        """The answer to each request; several requests are sent at the same time."""
        every = tuple(wanted)
        with threads(PARALLEL_REQUESTS) as pool:
            return dict(zip(every, pool.map(ask, every), strict=True))
