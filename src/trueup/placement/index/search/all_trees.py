# SPDX-License-Identifier: Apache-2.0
"""The candidates of all trees, and the order in which they are generated."""

import itertools
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from trueup.placement.index.search.checks import Columns
from trueup.placement.index.search.in_columns import candidates_in_columns
from trueup.placement.index.search.match import Slot
from trueup.placement.index.search.one_tree import SearchBudget, candidates_of_tree
from trueup.placement.index.search.partial_candidate import Candidate, SearchProblem
from trueup.placement.index.search.prune import PrunedTrees
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.forest import Positions

_FEW = 16
"""PERF: finding up to so many candidates one by one is faster than the arrays for all trees."""


@dataclass(frozen=True, slots=True)
class GenerationOptions:
    """The order in which candidates are generated, and their limit."""

    breadth_first: bool = True
    """One candidate of each tree, then another of each, instead of tree after tree."""
    randomize: bool = False
    candidates_max: int | None = None

    @property
    def takes_turns(self) -> bool:
        """Whether trees take turns."""
        # A random sample must not come from the first tree alone.
        return self.breadth_first or self.randomize


def candidates_of_all_trees(
    problem: SearchProblem, view: View, options: GenerationOptions, most: int
) -> Columns:
    """The first `most` candidates of a request with several slots, each once."""
    columns = None
    if most > _FEW and options.takes_turns and _uses_trees(problem, view):
        columns = candidates_in_columns(problem, most, randomize=options.randomize)
    if columns is None:
        columns = one_by_one(problem, view, options, most)
    return columns


def one_by_one(
    problem: SearchProblem, view: View, options: GenerationOptions, most: int
) -> Columns:
    """The first `most` candidates, found one after another."""
    trees = _each_tree(problem, view, options)
    each = round_robin(trees) if options.takes_turns else itertools.chain.from_iterable(trees)
    found = list(itertools.islice(each, most))
    # Without candidates the columns are empty.
    return tuple(np.array(found, dtype=np.int64).reshape(-1, len(problem.trees.slots)).T)


def _uses_trees(problem: SearchProblem, view: View) -> bool:
    """Whether each candidate has a provider that no other tree has."""
    if not view.shared_with:
        return True
    is_sharing = view.mask_of([view.sharing])
    return any(not is_sharing[offers.positions].any() for offers in problem.trees.firsts)


def single_slot(slot: Slot, view: View, options: GenerationOptions) -> Positions:
    """All candidates of a request with a single slot: the providers themselves."""
    positions = slot.offers.positions
    if view.shared_with:
        positions = np.unique(positions)
    if options.randomize:
        return np.random.default_rng().permutation(positions)
    if not options.breadth_first or not view.forest.has_trees:
        return positions
    roots = view.forest.roots[positions]
    firsts = np.flatnonzero(np.diff(roots, prepend=-1))
    lengths = np.diff(firsts, append=len(positions))
    turns = np.arange(len(positions)) - np.repeat(firsts, lengths)
    return positions[np.argsort(turns, kind="stable")]


def round_robin(trees: Iterable[Iterator[Candidate]]) -> Iterator[Candidate]:
    """One candidate of each tree, then another of each, until all are exhausted."""
    active = trees
    while True:
        not_exhausted = []
        for tree in active:
            candidate = next(tree, None)
            if candidate is not None:
                not_exhausted.append(tree)
                yield candidate
        if not not_exhausted:
            return
        active = not_exhausted


def _each_tree(
    problem: SearchProblem, view: View, options: GenerationOptions
) -> Iterator[Iterator[Candidate]]:
    """The candidates of each tree."""
    trees, budget = problem.trees, SearchBudget()
    columns, index_of_slot = _offer_columns(trees)
    numbers = np.arange(len(trees.anchors))
    if options.randomize:
        numbers = np.random.default_rng().permutation(numbers)
    seen = _Seen(set(), set())
    for number in map(int, numbers):
        of_tree = _offers_of_tree(columns, number)
        if options.randomize:
            for positions in of_tree:
                random.shuffle(positions)
        offers = [of_tree[index] for index in index_of_slot]
        if not view.shared_with:
            yield candidates_of_tree(problem, offers, budget)
            continue
        for part, may_repeat in _not_seen(offers, seen, view):
            candidates = candidates_of_tree(problem, part, budget)
            yield _once(candidates, seen, view) if may_repeat else candidates


def trees_with_candidates(problem: SearchProblem) -> Positions:
    """The roots of the trees that have any candidate, even one that other trees have too."""
    columns, index_of_slot = _offer_columns(problem.trees)
    budget, found = SearchBudget(), []
    for number, anchor in enumerate(problem.trees.anchors.tolist()):
        of_tree = _offers_of_tree(columns, number)
        offers = [of_tree[index] for index in index_of_slot]
        if next(candidates_of_tree(problem, offers, budget), None) is not None:
            found.append(anchor)
    return np.array(found, dtype=np.int64)


def _offer_columns(trees: PrunedTrees) -> tuple[list[tuple[Positions, Positions]], list[int]]:
    """All offers, with the first index of each tree; and for each slot, the index of its offers."""
    distinct = list(dict.fromkeys(slot.offers for slot in trees.slots))
    index_of_slot = [distinct.index(slot.offers) for slot in trees.slots]
    return [(offers.positions, trees.firsts[offers]) for offers in distinct], index_of_slot


def _offers_of_tree(columns: list[tuple[Positions, Positions]], number: int) -> list[list[int]]:
    return [
        positions[firsts[number] : firsts[number + 1]].tolist() for positions, firsts in columns
    ]


@dataclass(frozen=True, slots=True)
class _Seen:
    """The offers and candidates of sharing providers in earlier trees."""

    offers: set[tuple[tuple[int, ...], ...]]
    """The sharing providers for each slot, sorted. All their candidates were made."""
    candidates: set[Candidate]


def _not_seen(
    offers: list[list[int]], seen: _Seen, view: View
) -> Iterator[tuple[list[list[int]], bool]]:
    """The offers of a tree in parts, and whether other trees may have the same candidates.

    Sharing providers offer the same candidates in many trees. If those of this tree were seen, the
    first part has the candidates whose first slot uses the tree's own provider, the second part
    those whose second slot is the first to do so, and so on.
    """
    sharing = [
        [position for position in positions if position in view.shared_with] for positions in offers
    ]
    if not all(sharing):
        yield offers, False
        return
    key = tuple(tuple(sorted(positions)) for positions in sharing)
    if key not in seen.offers:
        seen.offers.add(key)
        yield offers, True
        return
    for slot, positions in enumerate(offers):
        own = [position for position in positions if position not in view.shared_with]
        if own:
            yield [*sharing[:slot], own, *offers[slot + 1 :]], False


def _once(candidates: Iterable[Candidate], seen: _Seen, view: View) -> Iterator[Candidate]:
    """The candidates, without repeated ones that consist of sharing providers alone."""
    for candidate in candidates:
        if all(position in view.shared_with for position in candidate):
            if candidate in seen.candidates:
                continue
            seen.candidates.add(candidate)
        yield candidate
