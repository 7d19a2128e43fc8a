# SPDX-License-Identifier: Apache-2.0
"""The content of each page, read from the ledger as frozen values. Every list has a limit."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from trueup.model.inventories import Inventory
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.reads import browsing
from trueup.placement.store.reads.browsing import (
    BrowsedConsumer,
    BrowsedProvider,
    Holding,
    Resources,
)

TREES_MAX = 100
"""Trees on one page of the list."""
MEMBERS_MAX = 5000
"""Providers below the trees of one page, or below one root."""
HOLDERS_MAX = 200
"""Consumers on one page of a provider."""
FOUND_MAX = 100
"""Providers and consumers that a search shows."""
HOLDINGS_MAX = 5000
"""Rows of one consumer."""
USAGES_MAX = 4
"""Classes that the list shows for a tree."""
_FIRST = ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB")


@dataclass(frozen=True, slots=True)
class Fits:
    """How many more servers fit, on how many hosts, and the most on one.

    `binds` has what keeps the next one away from how many hosts, in words.
    """

    count: int
    hosts: int
    largest: int
    binds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UsageBar:
    """Capacity and usage of a class, on one provider or on several together."""

    resource_class: str
    capacity: int
    held: int

    @property
    def is_over(self) -> bool:
        """Whether usage exceeds capacity."""
        return self.held > self.capacity

    @property
    def drawn(self) -> int:
        """The filled part of its bar, in percent; at least 1 if anything is held."""
        if self.is_over:
            return 100
        return max(self.held * 100 // self.capacity, 1) if self.held > 0 else 0


@dataclass(frozen=True, slots=True)
class PageOfList:
    """The number of a page, from 1, the last one's, and the rows of the whole list."""

    number: int
    last: int
    rows: int

    @property
    def offset(self) -> int:
        return self.number - 1


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A tree of the list, with the usage of all its providers together."""

    top: BrowsedProvider
    below: int
    usages: Sequence[UsageBar]
    more: int
    """The number of classes that are not shown."""


@dataclass(frozen=True, slots=True)
class TreeList:
    """A page of the list of trees."""

    page: PageOfList
    rows: Sequence[TreeRow]
    is_cut: bool
    """Whether the trees of this page have more providers than are read at once."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A provider in its tree, `depth` steps below the top."""

    provider: BrowsedProvider
    depth: int


@dataclass(frozen=True, slots=True)
class Offer:
    """An inventory of a provider, and its usage."""

    inventory: Inventory
    usage: UsageBar

    @property
    def free(self) -> int:
        return self.usage.capacity - self.usage.held


@dataclass(frozen=True, slots=True)
class Holder:
    """A consumer and its allocations; `consumer` is None if it has no row."""

    uuid: str
    consumer: BrowsedConsumer | None
    held: Sequence[Holding]


@dataclass(frozen=True, slots=True)
class ProviderView:
    """One provider."""

    provider: BrowsedProvider
    parent: BrowsedProvider | None
    root: BrowsedProvider | None
    tree: Sequence[Branch]
    is_cut: bool
    """Whether the tree has more providers than are shown."""
    offers: Sequence[Offer]
    unmatched: Mapping[str, int]
    """Usage of classes without an inventory."""
    traits: Sequence[str]
    aggregates: Sequence[str]
    page: PageOfList
    holders: Sequence[Holder]


@dataclass(frozen=True, slots=True)
class ConsumerView:
    """One consumer: its row, if there is one, and its allocations."""

    uuid: str
    consumer: BrowsedConsumer | None
    held: Sequence[Holding]
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search: the first FOUND_MAX of each list."""

    words: str
    providers: Sequence[BrowsedProvider] = ()
    in_aggregate: Sequence[BrowsedProvider] = ()
    consumers: Sequence[BrowsedConsumer] = ()
    more: bool = False


def tree_list(tx: Transaction, number: int) -> TreeList:
    """A page of the list; a number after the last page means the last."""
    page = _page_of(browsing.count_trees(tx), TREES_MAX, number)
    tops = browsing.tops(tx, page.offset * TREES_MAX, TREES_MAX)
    members = browsing.below(tx, [provider.id for provider in tops], MEMBERS_MAX + 1)
    resources = browsing.resources_of(tx, [provider.id for provider in (*tops, *members)])
    ids_of = defaultdict(list, {provider.id: [provider.id] for provider in tops})
    for provider in members:
        ids_of[provider.root_id or 0].append(provider.id)
    rows = []
    for top in tops:
        usages = usages_of(resources[id_] for id_ in ids_of[top.id])
        shown, more = usages[:USAGES_MAX], len(usages[USAGES_MAX:])
        rows.append(TreeRow(top, len(ids_of[top.id]) - 1, shown, more))
    return TreeList(page, rows, len(members) > MEMBERS_MAX)


def capacity(tx: Transaction) -> Sequence[UsageBar]:
    """The usage of the whole ledger by class. Reads all inventories and allocations."""
    return usages_of([browsing.totals(tx)])


def provider_view(tx: Transaction, uuid: str, number: int) -> ProviderView | None:
    """One provider, with a page of the consumers that have allocations on it."""
    found = browsing.provider(tx, uuid)
    if found is None:
        return None
    near = browsing.providers_of(
        tx, {id_ for id_ in (found.parent_id, found.root_id) if id_ is not None}
    )
    root = near.get(found.root_id) if found.root_id is not None else None
    top = root or found
    members = browsing.below(tx, [top.id], MEMBERS_MAX + 1)
    resources = browsing.resources_of(tx, [found.id])[found.id]
    page = _page_of(browsing.count_holders(tx, found.id), HOLDERS_MAX, number)
    held = browsing.holdings_on_provider(tx, found.id, page.offset * HOLDERS_MAX, HOLDERS_MAX)
    return ProviderView(
        provider=found,
        parent=near.get(found.parent_id) if found.parent_id is not None else None,
        root=root,
        tree=branches(top, members[:MEMBERS_MAX]),
        is_cut=len(members) > MEMBERS_MAX,
        offers=[
            Offer(present.inventory, UsageBar(name, present.inventory.capacity, present.used))
            for name, present in resources.inventories.items()
        ],
        unmatched=resources.used_without_inventory,
        traits=browsing.traits_of(tx, found.id),
        aggregates=browsing.aggregates_of(tx, found.id),
        page=page,
        holders=_holders(tx, held),
    )


def consumer_view(tx: Transaction, uuid: str) -> ConsumerView | None:
    """One consumer; None if it has neither a row nor allocations."""
    found = browsing.consumer(tx, uuid)
    held = browsing.holdings_of_consumer(tx, uuid, HOLDINGS_MAX + 1)
    if found is None and not held:
        return None
    return ConsumerView(uuid, found, held[:HOLDINGS_MAX], len(held) > HOLDINGS_MAX)


def search(tx: Transaction, words: str) -> Found:
    """Providers, aggregates and consumers by name, UUID, project or user."""
    if not words:
        return Found(words)
    limit = FOUND_MAX + 1
    lists = (
        browsing.search_providers(tx, words, limit),
        browsing.providers_in(tx, words.lower(), limit),
        browsing.search_consumers(tx, words, limit),
    )
    providers, in_aggregate, consumers = lists
    return Found(
        words,
        providers[:FOUND_MAX],
        in_aggregate[:FOUND_MAX],
        consumers[:FOUND_MAX],
        any(len(rows) > FOUND_MAX for rows in lists),
    )


def usages_of(resources: Iterable[Resources]) -> list[UsageBar]:
    """The usage of several providers together, with the classes of servers first."""
    capacities: dict[str, int] = defaultdict(int)
    held: dict[str, int] = defaultdict(int)
    for of_provider in resources:
        for name, inventory in of_provider.inventories.items():
            capacities[name] += inventory.inventory.capacity
            held[name] += inventory.used
        for name, amount in of_provider.used_without_inventory.items():
            held[name] += amount
    names = sorted({*capacities, *held}, key=lambda name: (_rank(name), name))
    return [UsageBar(name, capacities[name], held[name]) for name in names]


def branches(top: BrowsedProvider, members: Sequence[BrowsedProvider]) -> list[Branch]:
    """A tree, parents before children.

    A member that no chain of parents leads to, as in a broken tree, comes last.
    """
    children: dict[int | None, list[BrowsedProvider]] = defaultdict(list)
    for provider in members:
        children[provider.parent_id].append(provider)
    found: list[Branch] = []
    seen = {top.id}
    waiting = [Branch(top, 0)]
    while waiting:
        branch = waiting.pop()
        found.append(branch)
        below = [provider for provider in children[branch.provider.id] if provider.id not in seen]
        seen.update(provider.id for provider in below)
        waiting += [Branch(provider, branch.depth + 1) for provider in reversed(below)]
    return [*found, *(Branch(provider, 1) for provider in members if provider.id not in seen)]


def _rank(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


def _page_of(rows: int, size: int, number: int) -> PageOfList:
    last = max(-(-rows // size), 1)
    return PageOfList(min(number, last), last, rows)


def _holders(tx: Transaction, held: Sequence[Holding]) -> list[Holder]:
    rows = browsing.consumers_of(tx, {holding.consumer_uuid for holding in held})
    return [
        Holder(uuid, rows.get(uuid), list(group))
        for uuid, group in groupby(held, lambda holding: holding.consumer_uuid)
    ]
