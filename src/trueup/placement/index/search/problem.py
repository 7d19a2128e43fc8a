# SPDX-License-Identifier: Apache-2.0
"""A request, prepared for the search of one tree after the other."""

from dataclasses import dataclass, replace

from trueup.placement.index.search.constraints import Constraints, SlotNumbers
from trueup.placement.index.search.prune import PrunedTrees
from trueup.placement.index.view.forest import Forest


@dataclass(frozen=True, slots=True)
class SearchProblem:
    """What is the same for all trees of a request."""

    trees: PrunedTrees
    constraints: Constraints
    forest: Forest
    dependent: int
    """How many of the slots, from the first, must be chosen together; the others are free."""
    subtrees_ending: tuple[tuple[SlotNumbers, ...], ...]
    """By slot: the subtrees whose last slot it is."""
    last_unsuffixed_slot: int
    """The last of the slots that must have traits together; -1 if none must."""
    all_traits: int
    """A bit for each trait that must be had together."""


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
