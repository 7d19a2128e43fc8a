# SPDX-License-Identifier: Apache-2.0
"""The candidates of many trees at once: slot after slot, for all trees together.

The candidates and their order are those of `one_tree`, which tries one provider after another. Each
choice for the slots before is combined with each offer of its tree for the next slot; choices that
violate a constraint are dropped. Of each tree only the first choices are kept, up to the width; a
tree for which that was too narrow is searched again with a greater width.

PERF: an array operation for a thousand choices takes as long as trying two providers. Where most
choices would be dropped, trying them one by one is faster.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.placement.index.search.checks import Columns, LongerChoices, valid
from trueup.placement.index.search.match import Offers
from trueup.placement.index.search.partial_candidate import SearchProblem
from trueup.placement.index.view.columns import Integers, Mask
from trueup.placement.index.view.forest import Positions

_CHOICES_MAX = 1 << 18
"""The most choices that are made at once, because of their memory."""
_PLACES_MIN, _PLACES_FOR_EACH = 1 << 14, 256
"""The limit of places in one search: a minimum, and more for each wanted candidate.

A place is a slot of a choice. PERF: a few providers with capacity for many slots have so many
choices for the first slots that trying them one by one takes a hundredth of the time.
"""
_WIDTH_GROWTH = 4


def candidates_in_columns(problem: SearchProblem, most: int, *, randomize: bool) -> Columns | None:
    """The first `most` candidates if trees take turns, or None if that takes too many choices.

    A candidate that consists of sharing providers alone is found once for each tree.
    """
    source = np.random.default_rng() if randomize else None
    offers = _offers(problem, source)
    budget = _Budget(_PLACES_MIN + _PLACES_FOR_EACH * most)
    count = len(problem.trees.anchors)
    found, is_complete = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.bool_)
    parts: list[_Choices] = []
    width = 2 * -(-most // count)
    while len(wanted := _wanted(found, is_complete, most)):
        searched = _choose(problem, offers, wanted, width, budget)
        if searched is None:
            return None
        made, is_cut = searched
        is_wanted = np.zeros(count, dtype=np.bool_)
        is_wanted[wanted] = True
        parts = [made, *(part.only(~is_wanted[part.trees]) for part in parts)]
        found[wanted] = np.bincount(made.trees, minlength=count)[wanted]
        is_complete[wanted] = ~is_cut[wanted]
        width *= _WIDTH_GROWTH
    return _in_turns(parts, most)


@dataclass(slots=True)
class _Budget:
    """The places that the search may still use."""

    places_left: int

    def suffices(self, choices: int, slots: int) -> bool:
        """Whether so many choices for so many slots may be made; counts them."""
        self.places_left -= choices * slots
        return choices <= _CHOICES_MAX and self.places_left >= 0


@dataclass(frozen=True, slots=True)
class _OffersByTree:
    """The offers for one slot; those of each tree follow one another."""

    positions: Positions
    firsts: Positions
    """By tree: the index of its first offer."""
    counts: Integers
    """By tree: the number of its offers, at least one."""


@dataclass(frozen=True, slots=True)
class _Choices:
    """Providers for the first slots of some trees; those of each tree follow one another."""

    trees: Positions
    """By choice: the number of its tree."""
    columns: Columns

    def only(self, kept: Mask | Positions) -> "_Choices":
        return _Choices(self.trees[kept], tuple(column[kept] for column in self.columns))


def _offers(problem: SearchProblem, source: np.random.Generator | None) -> list[_OffersByTree]:
    """The offers for each slot; with a random source, trees and their offers in random order."""
    trees = problem.trees
    order = np.arange(len(trees.anchors))
    if source is not None:
        order = source.permutation(order)
    made: dict[Offers, _OffersByTree] = {}
    for offers, firsts in trees.firsts.items():
        positions = offers.positions
        if source is not None:
            positions = positions[np.lexsort((source.random(len(offers)), offers.anchors))]
        made[offers] = _OffersByTree(positions, firsts[:-1][order], np.diff(firsts)[order])
    return [made[slot.offers] for slot in trees.slots]


def _wanted(found: Integers, is_complete: Mask, most: int) -> Positions:
    """The trees to search: they may have more of the first `most` candidates.

    `found` has the number of known candidates, by tree.
    """
    open_count = int(np.count_nonzero(~is_complete))
    if not open_count:
        return np.empty(0, dtype=np.int64)
    # By turn, from the first: the number of candidates if open trees always have another.
    ended = np.cumsum(np.bincount(found[is_complete], minlength=1))
    together = np.cumsum(len(found) - ended[:-1])
    if len(together) and together[-1] >= most:
        turns = int(np.searchsorted(together, most)) + 1
    else:
        missing = most - (int(together[-1]) if len(together) else 0)
        turns = len(together) + -(-missing // open_count)
    given = np.where(is_complete, np.minimum(found, turns), turns)
    before_last = int(np.minimum(given, turns - 1).sum())
    is_needed = before_last + np.cumsum(given == turns) <= most
    is_short = ~is_complete & (found < turns)
    return np.flatnonzero(is_short & (is_needed | (found < turns - 1)))


def _choose(
    problem: SearchProblem,
    offers: Sequence[_OffersByTree],
    wanted: Positions,
    width: int,
    budget: _Budget,
) -> tuple[_Choices, Mask] | None:
    """The first candidates of the wanted trees, and which trees may have more.

    None if that takes too many choices.
    """
    is_cut = np.zeros(len(problem.trees.anchors), dtype=np.bool_)
    choices = _Choices(wanted, ())
    for slot, of_tree in enumerate(offers, 1):
        counts = of_tree.counts[choices.trees]
        ends = np.cumsum(counts)
        if not budget.suffices(int(counts.sum()), slot):
            return None
        before = np.repeat(np.arange(len(counts)), counts)
        trees = choices.trees[before]
        within = np.arange(len(before)) - np.repeat(ends - counts, counts)
        added = of_tree.positions[of_tree.firsts[trees] + within]
        kept = np.flatnonzero(valid(problem, LongerChoices(choices.columns, before, added)))
        kept = _first_of_each(kept, trees[kept], width, is_cut)
        shorter = choices.only(before[kept])
        choices = _Choices(shorter.trees, (*shorter.columns, added[kept]))
    return choices, is_cut


def _first_of_each(kept: Positions, trees: Positions, width: int, is_cut: Mask) -> Positions:
    """The first choices of each tree; marks in `is_cut` the trees that have more."""
    counts = np.bincount(trees, minlength=len(is_cut))
    is_wide = counts > width
    if not is_wide.any():
        return kept
    is_cut |= is_wide
    rank = np.arange(len(trees)) - (np.cumsum(counts) - counts)[trees]
    return kept[rank < width]


def _in_turns(parts: Sequence[_Choices], most: int) -> Columns:
    """The first candidate of each tree, then the second of each, and so on; at most `most`."""
    trees = np.concatenate([part.trees for part in parts])
    by_tree = np.argsort(trees, kind="stable")
    counts = np.bincount(trees)
    turns = np.arange(len(trees)) - np.repeat(np.cumsum(counts) - counts, counts)
    order = by_tree[np.argsort(turns, kind="stable")[:most]]
    columns = zip(*(part.columns for part in parts), strict=True)
    return tuple(np.concatenate(column)[order] for column in columns)
