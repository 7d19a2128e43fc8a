# SPDX-License-Identifier: Apache-2.0
"""What each page shows, read from the ledger as frozen values. Every list has a limit."""

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
"""Trees of one page of the list."""
MEMBERS_MAX = 5000
"""Providers below the trees of one page, or below one root."""
HOLDERS_MAX = 200
"""Consumers of one page of a provider."""
FOUND_MAX = 100
"""Providers and consumers that a search shows."""
HOLDINGS_MAX = 5000
"""Rows of one consumer."""
USAGES_MAX = 4
"""Classes that the list shows of a tree."""
_FIRST = ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB")


@dataclass(frozen=True, slots=True)
class UsageBar:
    """How much of a class is held, of one provider or of several together."""

    resource_class: str
    capacity: int
    held: int

    @property
    def is_over(self) -> bool:
        """Whether more is held than there is."""
        return self.held > self.capacity

    @property
    def drawn(self) -> int:
        """How much of its bar is filled, in percent; what is held is never quite invisible."""
        if self.is_over:
            return 100
        return max(self.held * 100 // self.capacity, 1) if self.held > 0 else 0


@dataclass(frozen=True, slots=True)
class PageOfList:
    """Which page of a list, from 1, and how many there are of how many rows."""

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
    """How many classes are not shown."""


@dataclass(frozen=True, slots=True)
class TreeList:
    """A page of the list of trees."""

    page: PageOfList
    rows: Sequence[TreeRow]
    is_cut: bool
    """Whether the trees of this page have more providers than are read at once."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A provider in its tree, so many steps below the top."""

    provider: BrowsedProvider
    depth: int


@dataclass(frozen=True, slots=True)
class Offer:
    """An inventory of a provider, and how much of it is held."""

    inventory: Inventory
    usage: UsageBar

    @property
    def free(self) -> int:
        return self.usage.capacity - self.usage.held


@dataclass(frozen=True, slots=True)
class Holder:
    """A consumer and what it holds; `consumer` is None if it has no row."""

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
    """What is held of classes that it has no inventory of."""
    traits: Sequence[str]
    aggregates: Sequence[str]
    page: PageOfList
    holders: Sequence[Holder]


@dataclass(frozen=True, slots=True)
class ConsumerView:
    """One consumer: its row, if there is one, and what it holds."""

    uuid: str
    consumer: BrowsedConsumer | None
    held: Sequence[Holding]
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found; of each list, the first FOUND_MAX."""

    words: str
    providers: Sequence[BrowsedProvider] = ()
    in_aggregate: Sequence[BrowsedProvider] = ()
    consumers: Sequence[BrowsedConsumer] = ()
    more: bool = False


def tree_list(tx: Transaction, number: int) -> TreeList:
    """A page of the list; one behind the last is the last."""
    page = _page_of(browsing.count_trees(tx), TREES_MAX, number)
    tops = browsing.tops(tx, page.offset * TREES_MAX, TREES_MAX)
    members = browsing.below(tx, [one.id for one in tops], MEMBERS_MAX + 1)
    resources = browsing.resources_of(tx, [one.id for one in (*tops, *members)])
    ids_of = defaultdict(list, {one.id: [one.id] for one in tops})
    for one in members:
        ids_of[one.root_id or 0].append(one.id)
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
    """One provider, with a page of the consumers that hold something of it."""
    found = browsing.provider(tx, uuid)
    if found is None:
        return None
    near = browsing.providers_of(
        tx, {one for one in (found.parent_id, found.root_id) if one is not None}
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
            Offer(one.inventory, UsageBar(name, one.inventory.capacity, one.used))
            for name, one in resources.inventories.items()
        ],
        unmatched=resources.used_without_inventory,
        traits=browsing.traits_of(tx, found.id),
        aggregates=browsing.aggregates_of(tx, found.id),
        page=page,
        holders=_holders(tx, held),
    )


def consumer_view(tx: Transaction, uuid: str) -> ConsumerView | None:
    """One consumer; None if it has no row and holds nothing."""
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
        any(len(one) > FOUND_MAX for one in lists),
    )


def usages_of(resources: Iterable[Resources]) -> list[UsageBar]:
    """The usage of several providers together, with the classes of servers first."""
    capacities: dict[str, int] = defaultdict(int)
    held: dict[str, int] = defaultdict(int)
    for one in resources:
        for name, inventory in one.inventories.items():
            capacities[name] += inventory.inventory.capacity
            held[name] += inventory.used
        for name, amount in one.used_without_inventory.items():
            held[name] += amount
    names = sorted({*capacities, *held}, key=lambda name: (_rank(name), name))
    return [UsageBar(name, capacities[name], held[name]) for name in names]


def branches(top: BrowsedProvider, members: Sequence[BrowsedProvider]) -> list[Branch]:
    """A tree in the order in which it is read.

    A member that no chain of parents leads to, as in a tree that is broken, comes last.
    """
    children: dict[int | None, list[BrowsedProvider]] = defaultdict(list)
    for one in members:
        children[one.parent_id].append(one)
    found: list[Branch] = []
    seen = {top.id}
    waiting = [Branch(top, 0)]
    while waiting:
        branch = waiting.pop()
        found.append(branch)
        below = [one for one in children[branch.provider.id] if one.id not in seen]
        seen.update(one.id for one in below)
        waiting += [Branch(one, branch.depth + 1) for one in reversed(below)]
    return [*found, *(Branch(one, 1) for one in members if one.id not in seen)]


def _rank(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


def _page_of(rows: int, size: int, number: int) -> PageOfList:
    last = max(-(-rows // size), 1)
    return PageOfList(min(number, last), last, rows)


def _holders(tx: Transaction, held: Sequence[Holding]) -> list[Holder]:
    rows = browsing.consumers_of(tx, {one.consumer_uuid for one in held})
    return [
        Holder(uuid, rows.get(uuid), list(group))
        for uuid, group in groupby(held, lambda one: one.consumer_uuid)
    ]
