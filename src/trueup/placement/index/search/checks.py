# SPDX-License-Identifier: Apache-2.0
"""Checks many choices for constraints at once, as `PartialCandidate.add` checks one."""

from dataclasses import dataclass, field

import numpy as np

from trueup.placement.index.search.partial_candidate import SearchProblem
from trueup.placement.index.view.columns import Integers, Mask
from trueup.placement.index.view.forest import Positions

Columns = tuple[Positions, ...]
"""Many choices: for each slot, the position of each choice's provider."""


@dataclass(slots=True)
class LongerChoices:
    """Choices for the first slots, each with a provider for one more slot."""

    shorter: Columns
    """The choices for the slots before the last one."""
    before: Positions
    """By choice: the index of the shorter choice that it begins with."""
    added: Positions
    """By choice: the provider for the last slot."""
    _columns: dict[int, Positions] = field(default_factory=dict)

    @property
    def last(self) -> int:
        """The slot that was added."""
        return len(self.shorter)

    def column(self, slot: int) -> Positions:
        """By choice: the provider for a slot."""
        if slot == self.last:
            return self.added
        if slot not in self._columns:
            self._columns[slot] = self.shorter[slot][self.before]
        return self._columns[slot]


def valid(problem: SearchProblem, choices: LongerChoices) -> Mask:
    """By choice: whether adding the last provider violates no constraint."""
    constraints, slot = problem.constraints, choices.last
    is_valid = np.ones(len(choices.added), dtype=np.bool_)
    for demand in constraints.demands[slot]:
        taken = _taken(problem, choices, demand.kind) + demand.amount
        is_valid &= taken <= problem.trees.free[demand.kind][choices.added]
    if slot in constraints.distinct_tree_slots:
        is_valid &= _are_in_distinct_trees(problem, choices)
    for members in problem.subtrees_ending[slot]:
        columns = [choices.column(number) for number in members]
        top, last = np.minimum.reduce(columns), np.maximum.reduce(columns)
        is_valid &= last < problem.forest.ends[top]
    if slot == problem.last_unsuffixed_slot and problem.trees.traits is not None:
        had = [problem.trees.traits[choices.column(n)] for n in constraints.unsuffixed_slots]
        is_valid &= np.asarray(np.bitwise_or.reduce(had) == problem.all_traits, dtype=np.bool_)
    return is_valid


def _taken(problem: SearchProblem, choices: LongerChoices, kind: int) -> Integers:
    """By choice: the amount of a kind that the slots before take from the last provider."""
    taken = np.zeros(len(choices.added), dtype=np.int64)
    for number, demands in enumerate(problem.constraints.demands[: choices.last]):
        for demand in demands:
            if demand.kind == kind:
                taken += demand.amount * (choices.column(number) == choices.added)
    return taken


def _are_in_distinct_trees(problem: SearchProblem, choices: LongerChoices) -> Mask:
    """By choice: whether the last provider is in no tree of another provider of these slots."""
    roots, is_distinct = problem.forest.roots, np.ones(len(choices.added), dtype=np.bool_)
    for number in problem.constraints.distinct_tree_slots:
        if number < choices.last:
            other = choices.column(number)
            is_distinct &= (other == choices.added) | (roots[other] != roots[choices.added])
    return is_distinct
