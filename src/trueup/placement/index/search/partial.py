# SPDX-License-Identifier: Apache-2.0
"""The providers that are chosen so far in one tree, and whether one more may join them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trueup.model.requests import CandidateRequest
from trueup.placement.index.search.constraints import Places, Rules, rules_of
from trueup.placement.index.search.match import Slot
from trueup.placement.index.search.prune import Trees
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.forest import Forest

Choice = tuple[int, ...]
"""The position of the provider for each slot, in the order of the slots."""


@dataclass(frozen=True, slots=True)
class Table:
    """What is the same for all trees of a request."""

    trees: Trees
    rules: Rules
    forest: Forest
    bound: int
    """How many of the slots, from the first, depend on each other; the others are free."""
    closing: tuple[tuple[Places, ...], ...]
    """By slot: the subtrees whose last member it is."""
    last_together: int
    """The last of the slots whose providers need traits together; -1 if none do."""

    @property
    def all_traits(self) -> int:
        """A bit for each trait that is required."""
        return (1 << len(self.rules.required)) - 1


def lay_table(request: CandidateRequest, trees: Trees, view: View) -> Table:
    """Prepare a request for trees that are narrowed down to it."""
    slots, rules = trees.slots, _rules(request, trees.slots, trees, view)
    # PERF: what is hard to satisfy is chosen first, what is free last: without dead ends.
    order = sorted(range(len(slots)), key=lambda n: (not rules.binds(n), len(slots[n].offers)))
    slots = tuple(slots[place] for place in order)
    rules = _rules(request, slots, trees, view)
    places = range(len(slots))
    return Table(
        trees=replace(trees, slots=slots),
        rules=rules,
        forest=view.forest,
        bound=sum(rules.binds(place) for place in places),
        closing=tuple(
            tuple(members for members in rules.subtrees if members[-1] == place) for place in places
        ),
        last_together=rules.together[-1] if rules.required else -1,
    )


def _rules(request: CandidateRequest, slots: Sequence[Slot], trees: Trees, view: View) -> Rules:
    rules = rules_of(request, slots, view.forest.has_trees)
    return rules if trees.traits is not None else replace(rules, required=())


class Hand:
    """Providers for the first slots of a tree; it never breaks a rule."""

    def __init__(self, table: Table, offers: Sequence[Sequence[int]]):
        self.table, self.offers = table, offers
        self.chosen: list[int] = []
        self._taken: dict[tuple[int, int], int] = {}

    def room(self, kind: int, position: int) -> int:
        """How much of a kind of demand is left at a provider."""
        free: int = self.table.trees.rooms[kind].item(position)
        return free - self._taken.get((kind, position), 0)

    def take(self, position: int) -> bool:
        """Choose a provider for the next slot, unless that would break a rule."""
        place, rules = len(self.chosen), self.table.rules
        for demand in rules.demands[place]:
            if demand.amount > self.room(demand.kind, position):
                return False
        if place in rules.apart and not self._is_apart(position):
            return False
        self.chosen.append(position)
        for members in self.table.closing[place]:
            if not self.table.forest.is_one_subtree([self.chosen[one] for one in members]):
                self.chosen.pop()
                return False
        if place == self.table.last_together and self.traits() != self.table.all_traits:
            self.chosen.pop()
            return False
        for demand in rules.demands[place]:
            key = (demand.kind, position)
            self._taken[key] = self._taken.get(key, 0) + demand.amount
        return True

    def give_back(self) -> None:
        """Undo the last choice."""
        position = self.chosen.pop()
        for demand in self.table.rules.demands[len(self.chosen)]:
            self._taken[demand.kind, position] -= demand.amount

    def traits(self) -> int:
        """A bit for each of the required traits that the providers have so far."""
        found = 0
        bits = self.table.trees.traits
        for place in self.table.rules.together:
            if bits is not None and place < len(self.chosen):
                found |= int(bits.item(self.chosen[place]))
        return found

    def _is_apart(self, position: int) -> bool:
        root = self.table.forest.roots.item
        return all(
            self.chosen[place] == position or root(self.chosen[place]) != root(position)
            for place in self.table.rules.apart
            if place < len(self.chosen)
        )
