# SPDX-License-Identifier: Apache-2.0
"""A request, prepared for the search, and the first tree that could satisfy it."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.placement.index.clouds import Host, view_of
from tests.placement.index.forests import draw_forest, draw_request
from trueup.model.requests import CandidateRequest, RequestGroup
from trueup.placement.index.search.constraints import constrain
from trueup.placement.index.search.match import NoCandidates, match_request
from trueup.placement.index.search.partial_candidate import PartialCandidate, SearchProblem, prepare
from trueup.placement.index.search.prune import prune
from trueup.placement.index.view.columns import View


@dataclass(frozen=True, slots=True)
class Tree:
    """An empty partial candidate, and the view it belongs to."""

    view: View
    partial: PartialCandidate

    @property
    def suffixes(self) -> list[str]:
        """Of the slots, in the order in which they are filled."""
        return [slot.suffix for slot in self.partial.problem.trees.slots]

    @property
    def classes(self) -> list[str]:
        """The first resource class of each slot, in the order in which they are filled."""
        return [slot.resources[0][0] for slot in self.partial.problem.trees.slots]

    def add(self, name: str) -> bool:
        return self.partial.add(self.view.forest.by_uuid[name])


def problem_of(request: CandidateRequest, view: View) -> SearchProblem:
    """The request, as the search of each tree gets it. Raises NoCandidates."""
    slots, constraints = constrain(match_request(request, view), request, view.forest.has_trees)
    return prepare(prune(slots, constraints, view), constraints, view.forest)


def drawn_problems(count: int) -> Iterator[tuple[int, View, SearchProblem]]:
    """Random requests to random forests that may have candidates, each with its seed."""
    for seed in range(count):
        source = random.Random(seed)
        cloud, classes = draw_forest(source)
        view = view_of(cloud)
        try:
            yield seed, view, problem_of(draw_request(source, cloud, classes), view)
        except NoCandidates:
            continue


def tree_of(hosts: Iterable[Host], *groups: RequestGroup, **wide: object) -> Tree:
    """The first tree of the cloud, for this request."""
    view = view_of(hosts)
    problem = problem_of(CandidateRequest(groups, **wide), view)
    offers = []
    for slot in problem.trees.slots:
        first, last = problem.trees.firsts[slot.offers][:2].tolist()
        offers.append(slot.offers.positions[first:last].tolist())
    return Tree(view, PartialCandidate(problem, offers))
