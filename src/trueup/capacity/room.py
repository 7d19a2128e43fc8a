# SPDX-License-Identifier: Apache-2.0
"""Room: what is left of a ledger while servers are placed in it, one after another.

A server is placed by the search that answers allocation candidates. Of several candidates of a host
the one counts whose providers come first, group after group; without suffix, class after class.

PERF: where no choice restricts another one, how many fit on a host is a division. It is the same
number as placing them one by one, as tests/capacity/test_room.py shows: whatever provider is
chosen for a part of the request, it has one place less for that part, and no other part cares.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from trueup.model.requests import CandidateRequest
from trueup.placement.index.search.constraints import constrain
from trueup.placement.index.search.match import NoCandidates, Slot, match_request
from trueup.placement.index.search.one_tree import SearchBudget, candidates_of_tree
from trueup.placement.index.search.partial_candidate import Candidate, SearchProblem, prepare
from trueup.placement.index.search.prune import prune
from trueup.placement.index.view.columns import Integers, InventoryColumns, View

ENDLESS = 2**40
"""More than fits on any host."""
_COMPARED_MAX = 5000
"""Of so many candidates of a host the first is looked for."""
_WHOLE_MAX = 2.0**62

Claim = tuple[tuple[int, str, int], ...]
"""What a server takes: positions of providers, with a class and an amount."""


@dataclass(frozen=True, slots=True)
class Fitting:
    """How many servers fit on one host, and the class, or the choice, that ends first."""

    count: int
    ends_by: str


@dataclass(frozen=True, slots=True)
class Search:
    """Where servers with one request fit; right as long as servers are only added."""

    problem: SearchProblem
    trees: Mapping[int, int]
    """The number of each tree, by the position of its root."""
    order: tuple[int, ...]
    """The slots in the order of the request."""

    @property
    def slots(self) -> tuple[Slot, ...]:
        return self.problem.trees.slots

    def offers(self, root: int) -> list[list[int]]:
        """For each slot: the providers that had room when the search was made."""
        number, firsts = self.trees[root], self.problem.trees.firsts
        bounds = (firsts[slot.offers][number : number + 2].tolist() for slot in self.slots)
        return [
            slot.offers.positions[first:last].tolist()
            for slot, (first, last) in zip(self.slots, bounds, strict=True)
        ]


def search_in(view: View, request: CandidateRequest) -> Search | None:
    """Where servers with this request fit in a view; None: nowhere."""
    try:
        slots: Sequence[Slot] = match_request(request, view)
        slots, constraints = constrain(slots, request, view.forest.has_trees)
        problem = prepare(prune(slots, constraints, view), constraints, view.forest)
    except NoCandidates:
        return None
    trees = {root: number for number, root in enumerate(problem.trees.anchors.tolist())}
    keys = [(slot.suffix, sorted(name for name, _ in slot.resources)) for slot in slots]
    order = sorted(range(len(slots)), key=lambda number: keys[number])
    return Search(problem, trees, tuple(order))


class Room:
    """What is left of a view."""

    def __init__(self, view: View) -> None:
        self.view = replace(view, inventories={n: _own(c) for n, c in view.inventories.items()})
        self._sharing = frozenset(view.sharing.tolist())

    def search(self, request: CandidateRequest) -> Search | None:
        """Where servers with this request fit now; None: nowhere."""
        return search_in(self.view, request)

    @cached_property
    def _entries(self) -> Mapping[str, Mapping[int, int]]:
        """The entry of each provider in the columns of each class."""
        return {
            name: {position: entry for entry, position in enumerate(column.positions.tolist())}
            for name, column in self.view.inventories.items()
        }

    def count(self, search: Search, root: int, most: int = ENDLESS) -> Fitting:
        """How many servers fit on a host, at most so many; what they take of pools is gone."""
        if root not in search.trees:
            return Fitting(0, "")
        offers = self._fitting(search, search.offers(root))
        if search.problem.dependent or self._draws_on_choice(offers):
            return self._one_by_one(search, root, most)
        found = self._divided(search, offers)
        if found.count > most:
            found = Fitting(most, "")
        for slot, positions in zip(search.slots, offers, strict=True):
            # No other host uses what several providers of this host alone can give.
            for position in self._sharing.intersection(positions):
                self.take([(position, name, n * found.count) for name, n in slot.resources])
        return found

    def counts(self, search: Search) -> dict[int, Fitting] | None:
        """As `count`, of all hosts at once; None: they have to be filled one after the other."""
        if search.problem.dependent or self._sharing:
            return None
        trees, ends = search.problem.trees, []
        least = np.full(len(trees.anchors), ENDLESS, dtype=np.int64)
        by = np.zeros(len(trees.anchors), dtype=np.int64)
        for number, slot in enumerate(search.slots):
            firsts = trees.firsts[slot.offers][:-1]
            places, which = self._places(slot, slot.offers.positions)
            in_tree = np.minimum(np.add.reduceat(places, firsts), ENDLESS)
            ends.append([slot.resources[index][0] for index in which[firsts].tolist()])
            by = np.where(in_tree < least, number, by)
            least = np.minimum(in_tree, least)
        roots, counts = trees.anchors.tolist(), least.tolist()
        return {
            root: Fitting(count, ends[slot][at])
            for at, (root, count, slot) in enumerate(zip(roots, counts, by.tolist(), strict=True))
        }

    def place(self, search: Search, root: int) -> Claim | None:
        """Place one server on a host; None: it has no room."""
        if root not in search.trees:
            return None
        offers = self._fitting(search, search.offers(root))
        if not all(offers):
            return None
        candidate = self._first(search, root, offers)
        if candidate is None:
            return None
        claim = tuple(
            (position, name, amount)
            for slot, position in zip(search.slots, candidate, strict=True)
            for name, amount in slot.resources
        )
        self.take(claim)
        return claim

    def release(self, claim: Claim) -> None:
        """Give back what a server holds; searches that were made before miss that."""
        self.take([(position, name, -amount) for position, name, amount in claim])

    def free(self, position: int, name: str) -> int:
        """How much is left of a class of a provider; 0 if it has none."""
        entry = self._entries.get(name, {}).get(position)
        if entry is None:
            return 0
        one = self.view.inventories[name]
        return int(min(one.capacity.item(entry), _WHOLE_MAX)) - int(one.used.item(entry))

    def _one_by_one(self, search: Search, root: int, most: int) -> Fitting:
        count = 0
        while count < most and self.place(search, root):
            count += 1
        return Fitting(count, "" if count == most else self._ended_by(search, root))

    def _ended_by(self, search: Search, root: int) -> str:
        """The class that is at its end; "" if the parts do not go together."""
        for slot, positions in zip(
            search.slots, self._fitting(search, search.offers(root)), strict=True
        ):
            if not positions:
                return slot.resources[0][0] if slot.resources else ""
        return ""

    def _fitting(self, search: Search, offers: list[list[int]]) -> list[list[int]]:
        """The offers that still have room."""
        return [
            [
                position
                for position in positions
                if all(self.free(position, n) >= a for n, a in slot.resources)
            ]
            for slot, positions in zip(search.slots, offers, strict=True)
        ]

    def _draws_on_choice(self, offers: list[list[int]]) -> bool:
        """Whether it is a choice how much of a pool is left for other hosts."""
        return any(
            len(positions) > 1 and not self._sharing.isdisjoint(positions) for positions in offers
        ) or all(not self._sharing.isdisjoint(positions) for positions in offers)

    def _divided(self, search: Search, offers: list[list[int]]) -> Fitting:
        least = Fitting(ENDLESS, "")
        for slot, positions in zip(search.slots, offers, strict=True):
            places, which = self._places(slot, np.array(positions, dtype=np.int64))
            count = min(int(places.sum()), ENDLESS)
            if count < least.count:
                name = slot.resources[int(which[0])][0] if positions else slot.resources[0][0]
                least = Fitting(count, name)
        return least

    def _places(self, slot: Slot, positions: Integers) -> tuple[Integers, Integers]:
        """By provider: how often it can give the slot, and the index of the class that ends it."""
        places = np.full(len(positions), ENDLESS, dtype=np.int64)
        which = np.zeros(len(positions), dtype=np.int64)
        for number, (name, amount) in enumerate(slot.resources):
            one = self.view.inventories[name]
            entries = np.searchsorted(one.positions, positions)
            whole = np.minimum(one.capacity[entries], _WHOLE_MAX).astype(np.int64)
            fits = np.maximum(whole - one.used[entries], 0) // amount
            which = np.where(fits < places, number, which)
            places = np.minimum(fits, places)
        return places, which

    def _first(self, search: Search, root: int, offers: list[list[int]]) -> Candidate | None:
        """The first candidate of a host that takes anything of the host itself."""
        problem = self._current(search, offers) if search.problem.dependent else search.problem
        found = candidates_of_tree(problem, offers, SearchBudget())
        first = next(found, None)
        if first is None or (not problem.dependent and self._takes_of(root, first)):
            # Without choices that restrict each other, each part has its first provider in it.
            return first
        compared = itertools.islice(itertools.chain([first], found), _COMPARED_MAX)
        of_host = (candidate for candidate in compared if self._takes_of(root, candidate))
        return min(of_host, key=lambda one: [one[slot] for slot in search.order], default=None)

    def _current(self, search: Search, offers: list[list[int]]) -> SearchProblem:
        """The problem with what is free now of these offers."""
        trees, names = search.problem.trees, search.problem.constraints.contended
        for name, column in zip(names, trees.free, strict=False):
            one = self.view.inventories[name]
            for position in {position for positions in offers for position in positions}:
                entry = self._entries[name].get(position)
                if entry is not None:
                    column[position] = min(self.free(position, name), one.max_units.item(entry))
        return search.problem

    def _takes_of(self, root: int, candidate: Candidate) -> bool:
        return any(self.view.forest.roots.item(position) == root for position in candidate)

    def take(self, claim: Sequence[tuple[int, str, int]]) -> None:
        """Let a server hold this."""
        for position, name, amount in claim:
            entry = self._entries.get(name, {}).get(position)
            if entry is not None:
                self.view.inventories[name].used[entry] += amount


def _own(columns: InventoryColumns) -> InventoryColumns:
    return replace(columns, used=columns.used.copy())


def claims_of(held: Mapping[str, Mapping[str, int]], view: View) -> Iterator[tuple[int, str, int]]:
    """What a consumer holds, as a claim; of providers that are not in the view nothing."""
    for uuid, row in held.items():
        position = view.forest.by_uuid.get(uuid)
        if position is not None:
            yield from ((position, name, amount) for name, amount in row.items())
