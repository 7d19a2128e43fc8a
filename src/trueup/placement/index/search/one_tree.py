# SPDX-License-Identifier: Apache-2.0
"""The candidates of one tree: a provider for each slot, such that all constraints hold.

Candidates are generated lazily. Slots are filled in their order, and a provider that violates a
constraint is skipped. After some dead ends, each step is checked first: can it be completed
(`feasibility`)?
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trueup.placement.index.search.feasibility import can_complete
from trueup.placement.index.search.partial_candidate import (
    Candidate,
    PartialCandidate,
    SearchProblem,
)

_DEAD_ENDS_BEFORE_CHECKING = 8
_TRIES_MIN = 200


@dataclass(slots=True)
class SearchBudget:
    """The tries without a result that a request may still spend, in all trees together.

    Bin packing can take practically forever. So a tree is given up after a part of the budget,
    which leaves some for each other tree.
    """

    tries_left: int = 320_000

    def for_tree(self, slots: int) -> int:
        """The tries in a row that may find nothing in a tree with so many slots."""
        return max(self.tries_left // 16, _TRIES_MIN + slots**2)


def candidates_of_tree(
    problem: SearchProblem, offers: Sequence[Sequence[int]], budget: SearchBudget
) -> Iterator[Candidate]:
    """All candidates from the offers of one tree, each once; fewer if the budget is spent."""
    dependent = problem.dependent
    if not dependent:
        yield from itertools.product(*offers)
        return
    for chosen in _dependent_choices(PartialCandidate(problem, offers[:dependent]), budget):
        if dependent == len(offers):
            yield chosen
        else:
            yield from ((*chosen, *free) for free in itertools.product(*offers[dependent:]))


def _dependent_choices(partial: PartialCandidate, budget: SearchBudget) -> Iterator[Candidate]:
    """All choices for the slots that depend on each other."""
    untried, found_before = [iter(partial.offers[0])], [0]
    found = tries = dead_ends = 0
    checks = is_hopeless = False
    tries_max = budget.for_tree(len(partial.offers))
    while untried and not is_hopeless and tries <= tries_max:
        position = next(untried[-1], None)
        if position is None:
            untried.pop()
            dead_ends += found == found_before.pop()
            if untried:
                partial.remove()
            if dead_ends >= _DEAD_ENDS_BEFORE_CHECKING and not checks:
                empty = PartialCandidate(partial.problem, partial.offers)
                checks, is_hopeless = True, not can_complete(empty)
            continue
        tries += 1
        if not partial.add(position):
            continue
        if len(partial.chosen) == len(partial.offers):
            found, tries = found + 1, 0
            yield tuple(partial.chosen)
            partial.remove()
        elif checks and not can_complete(partial):
            tries += len(partial.offers)
            partial.remove()
        else:
            untried.append(iter(partial.offers[len(partial.chosen)]))
            found_before.append(found)
    budget.tries_left = max(0, budget.tries_left - tries)
