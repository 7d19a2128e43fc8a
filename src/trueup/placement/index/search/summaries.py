# SPDX-License-Identifier: Apache-2.0
"""From choices to the answer: the providers of the trees they use."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.model.candidates import StockColumns, Summaries, Tell
from trueup.placement.index.search.match import Slot
from trueup.placement.index.search.partial import Choice
from trueup.placement.index.view.columns import InventoryColumns, Mask, View
from trueup.placement.index.view.forest import NO_PARENT, Positions

_CLASSES_TOLD_APART = 32
"""After so many, what was told apart is numbered anew: an integer has 63 bits."""


def used_by(choices: Sequence[Choice], slots: Sequence[Slot]) -> Positions:
    """The providers that give something to a candidate, and do not only have to be there."""
    columns = list(zip(*choices, strict=True))
    giving = [column for column, slot in zip(columns, slots, strict=False) if slot.resources]
    found = set(itertools.chain.from_iterable(giving))
    return np.fromiter(sorted(found), dtype=np.int64, count=len(found))


@dataclass(frozen=True, slots=True)
class Shown:
    """These providers of a view, with their inventories and traits."""

    positions: Positions
    view: View

    def told(self, tell: Tell, *, kept: bool) -> Iterable[bytes]:
        """What `tell` makes of each, as `model.Summarized` says."""
        fragments = self.view.fragments
        known, positions = fragments.known if kept else {}, self.positions.tolist()
        missing = [position for position in positions if position not in known]
        made: dict[int, bytes] = {}
        for alike, summaries in _summaries(np.array(missing, dtype=np.int64), self.view):
            made.update(zip(alike.tolist(), tell(summaries), strict=True))
        if kept:
            fragments.add(made)
        return [made[position] if position in made else known[position] for position in positions]


def summarize(used: Positions, view: View, whole_trees: bool = True) -> Shown:
    """These providers, or all of their trees."""
    return Shown(_of_trees(used, view) if whole_trees and view.forest.has_trees else used, view)


def _summaries(shown: Positions, view: View) -> Iterator[tuple[Positions, Summaries]]:
    """These providers, those together that have inventories of the same classes."""
    if not len(shown):
        return
    held: dict[str, Mask] = {}
    kinds = np.zeros(len(shown), dtype=np.int64)
    for number, (name, stocks) in enumerate(view.inventories.items()):
        has = _has_stock(shown, stocks)
        if has.any():
            held[name] = has
            kinds = kinds * 2 + has
        if number % _CLASSES_TOLD_APART == 0:
            kinds = np.unique(kinds, return_inverse=True)[1]
    numbers, begins = np.unique(kinds, return_index=True)
    for number, first in zip(numbers, begins, strict=True):
        alike = shown[kinds == number]
        yield alike, _columns(alike, [name for name, has in held.items() if has[first]], view)


def _columns(shown: Positions, names: Iterable[str], view: View) -> Summaries:
    """Providers that all have inventories of these classes."""
    uuids, positions = view.forest.uuids, shown.tolist()
    return Summaries(
        uuids=[uuids[position] for position in positions],
        root_uuids=[uuids[root] for root in view.forest.roots[shown].tolist()],
        parent_uuids=[
            None if parent == NO_PARENT else uuids[parent]
            for parent in view.forest.parents[shown].tolist()
        ],
        traits=[view.traits_of.get(position, ()) for position in positions],
        stocks=tuple(_stock_columns(name, shown, view.inventories[name]) for name in names),
    )


def _stock_columns(name: str, shown: Positions, stocks: InventoryColumns) -> StockColumns:
    entries = np.searchsorted(stocks.positions, shown)
    capacities = stocks.capacity[entries].astype(np.int64)
    return StockColumns(name, capacities.tolist(), stocks.used[entries].tolist())


def _has_stock(shown: Positions, stocks: InventoryColumns) -> Mask:
    entries = np.searchsorted(stocks.positions, shown)
    entries[entries == len(stocks.positions)] = 0
    return np.asarray(stocks.positions[entries] == shown)


def _of_trees(positions: Positions, view: View) -> Positions:
    """All providers of the trees that these are in."""
    roots = np.unique(view.forest.roots[positions])
    sizes = view.forest.ends[roots] - roots
    begins = np.cumsum(sizes) - sizes
    return np.asarray(np.repeat(roots - begins, sizes) + np.arange(sizes.sum()))
