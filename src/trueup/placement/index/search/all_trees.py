# SPDX-License-Identifier: Apache-2.0
"""All trees together: from which of them candidates come, and in which turn."""

import itertools
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from trueup.placement.index.search.match import Slot
from trueup.placement.index.search.one_tree import Patience, choices
from trueup.placement.index.search.partial import Choice, Table
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.forest import Positions


@dataclass(frozen=True, slots=True)
class Order:
    """In which order candidates are made, and how many at most."""

    breadth_first: bool = True
    """One candidate of each tree, then another of each, instead of tree after tree."""
    randomize: bool = False
    candidates_max: int | None = None

    @property
    def takes_turns(self) -> bool:
        """Whether no tree is exhausted before the others had their turn."""
        # A random sample must not come from the first tree alone.
        return self.breadth_first or self.randomize


def combine(table: Table, view: View, order: Order) -> Iterator[Choice]:
    """All ways to choose for several slots, each once, made when they are asked for."""
    trees = _each_tree(table, view, order)
    return _in_turn(trees) if order.takes_turns else itertools.chain.from_iterable(trees)


def lone(slot: Slot, view: View, order: Order) -> Positions:
    """All ways to choose for a request that is a single slot: the providers themselves."""
    positions = slot.offers.positions
    if view.shared_with:
        positions = np.unique(positions)
    if order.randomize:
        return np.random.default_rng().permutation(positions)
    if not order.breadth_first or not view.forest.has_trees:
        return positions
    roots = view.forest.roots[positions]
    begins = np.flatnonzero(np.diff(roots, prepend=-1))
    turns = np.arange(len(positions)) - np.repeat(begins, np.diff(begins, append=len(positions)))
    return positions[np.argsort(turns, kind="stable")]


def _each_tree(table: Table, view: View, order: Order) -> Iterator[Iterator[Choice]]:
    trees, patience = table.trees, Patience()
    distinct = list(dict.fromkeys(slot.offers for slot in trees.slots))
    which = [distinct.index(slot.offers) for slot in trees.slots]
    columns = [(offers.positions, trees.firsts[offers]) for offers in distinct]
    numbers = np.arange(len(trees.anchors))
    if order.randomize:
        numbers = np.random.default_rng().permutation(numbers)
    seen = _Seen(set(), set())
    for number in map(int, numbers):
        found = [
            positions[firsts[number] : firsts[number + 1]].tolist() for positions, firsts in columns
        ]
        if order.randomize:
            for some in found:
                random.shuffle(some)
        offers = [found[column] for column in which]
        if not view.shared_with:
            yield choices(table, offers, patience)
            continue
        for part, may_repeat in _unseen(offers, seen, view):
            made = choices(table, part, patience)
            yield _once(made, seen, view) if may_repeat else made


@dataclass(frozen=True, slots=True)
class _Seen:
    """What providers that share with many trees have already been part of."""

    offers: set[tuple[tuple[int, ...], ...]]
    """For each slot, who shares: all choices from these are made."""
    choices: set[Choice]


def _unseen(
    offers: list[list[int]], seen: _Seen, view: View
) -> Iterator[tuple[list[list[int]], bool]]:
    """The offers of a tree, in parts, and whether other trees may have the same choices.

    Providers that share offer the same choices to many trees. If those of this tree are known,
    the parts are the choices whose first provider of its own is that of the first slot, of the
    second, and so on.
    """
    shared = [[one for one in some if one in view.shared_with] for some in offers]
    if not all(shared):
        yield offers, False
        return
    mark = tuple(tuple(sorted(some)) for some in shared)
    if mark not in seen.offers:
        seen.offers.add(mark)
        yield offers, True
        return
    for place, some in enumerate(offers):
        own = [one for one in some if one not in view.shared_with]
        if own:
            yield [*shared[:place], own, *offers[place + 1 :]], False


def _once(found: Iterable[Choice], seen: _Seen, view: View) -> Iterator[Choice]:
    """Without repetitions, as far as trees may know the same providers and yet others."""
    for choice in found:
        if all(position in view.shared_with for position in choice):
            if choice in seen.choices:
                continue
            seen.choices.add(choice)
        yield choice


def _in_turn(trees: Iterable[Iterator[Choice]]) -> Iterator[Choice]:
    """One of each, then another of each, until all are exhausted."""
    active = trees
    while True:
        still = []
        for tree in active:
            choice = next(tree, None)
            if choice is not None:
                still.append(tree)
                yield choice
        if not still:
            return
        active = still
