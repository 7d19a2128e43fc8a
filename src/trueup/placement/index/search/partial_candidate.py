# SPDX-License-Identifier: Apache-2.0
"""The providers chosen so far in one tree, and whether one more may be added."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trueup.placement.index.search.constraints import Constraints, SlotNumbers
from trueup.placement.index.search.prune import PrunedTrees
from trueup.placement.index.view.forest import Forest

Candidate = tuple[int, ...]
"""The position of the provider for each slot, in the order of the slots."""


@dataclass(frozen=True, slots=True)
class SearchProblem:
    """The part of a search that all trees of a request share."""

    trees: PrunedTrees
    constraints: Constraints
    forest: Forest
    dependent: int
    """The number of slots, from the first, that depend on each other; the others are free."""
    subtrees_ending: tuple[tuple[SlotNumbers, ...], ...]
    """By slot: the subtrees whose last slot it is."""
    last_unsuffixed_slot: int
    """The last of the slots that must have traits together; -1 if none must."""
    all_traits: int
    """A bit for each of these traits."""


def prepare(trees: PrunedTrees, constraints: Constraints, forest: Forest) -> SearchProblem:
    """The problem of finding candidates in these trees."""
    if trees.traits is None:
        constraints = replace(constraints, required=())
    numbers = range(len(trees.slots))
    return SearchProblem(
        trees=trees,
        constraints=constraints,
        forest=forest,
        dependent=1 + max(filter(constraints.binds, numbers), default=-1),
        subtrees_ending=tuple(
            tuple(members for members in constraints.subtrees if members[-1] == number)
            for number in numbers
        ),
        last_unsuffixed_slot=constraints.unsuffixed_slots[-1] if constraints.required else -1,
        all_traits=(1 << len(constraints.required)) - 1,
    )


class PartialCandidate:
    """Providers for the first slots of a tree. It never violates a constraint."""

    def __init__(self, problem: SearchProblem, offers: Sequence[Sequence[int]]):
        """`offers` has the positions that the tree offers for each slot."""
        self.problem, self.offers = problem, offers
        self.chosen: list[int] = []
        self._taken: dict[tuple[int, int], int] = {}

    def free(self, kind: int, position: int) -> int:
        """The amount of a kind of demand that the provider has left for the open slots."""
        free: int = self.problem.trees.free[kind].item(position)
        return free - self._taken.get((kind, position), 0)

    def add(self, position: int) -> bool:
        """Choose a provider for the next slot; False if that would violate a constraint."""
        problem, slot = self.problem, len(self.chosen)
        constraints = problem.constraints
        for demand in constraints.demands[slot]:
            if demand.amount > self.free(demand.kind, position):
                return False
        if slot in constraints.distinct_tree_slots and not self._is_in_distinct_tree(position):
            return False
        self.chosen.append(position)
        for members in problem.subtrees_ending[slot]:
            if not problem.forest.is_one_subtree([self.chosen[number] for number in members]):
                self.chosen.pop()
                return False
        if slot == problem.last_unsuffixed_slot and self.traits() != problem.all_traits:
            self.chosen.pop()
            return False
        for demand in constraints.demands[slot]:
            key = (demand.kind, position)
            self._taken[key] = self._taken.get(key, 0) + demand.amount
        return True

    def remove(self) -> None:
        """Undo the last `add`."""
        position = self.chosen.pop()
        for demand in self.problem.constraints.demands[len(self.chosen)]:
            self._taken[demand.kind, position] -= demand.amount

    def traits(self) -> int:
        """A bit for each of these traits that the chosen providers have."""
        found = 0
        bits = self.problem.trees.traits
        for number in self.problem.constraints.unsuffixed_slots:
            if bits is not None and number < len(self.chosen):
                found |= int(bits.item(self.chosen[number]))
        return found

    def _is_in_distinct_tree(self, position: int) -> bool:
        root = self.problem.forest.roots.item
        return all(
            self.chosen[number] == position or root(self.chosen[number]) != root(position)
            for number in self.problem.constraints.distinct_tree_slots
            if number < len(self.chosen)
        )
