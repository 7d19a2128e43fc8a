# SPDX-License-Identifier: Apache-2.0
"""The providers that an answer describes, and the columns of their descriptions."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from trueup.model.candidates import InventoryUsage, ProviderSummaries, SummaryColumns
from trueup.placement.index.search.checks import Columns
from trueup.placement.index.search.match import Slot
from trueup.placement.index.view.columns import InventoryColumns, Mask, View
from trueup.placement.index.view.forest import NO_PARENT, Positions

_CLASSES_PER_NUMBERING = 32
"""After so many classes, sets of classes are renumbered: an integer has 63 bits."""


def providers_used(candidates: Columns, slots: Sequence[Slot], view: View) -> Positions:
    """The providers of all slots with resources, sorted."""
    columns = zip(candidates, slots, strict=True)
    return np.flatnonzero(view.mask_of(column for column, slot in columns if slot.resources))


def summaries_of(used: Positions, view: View, whole_trees: bool = True) -> ProviderSummaries:
    """The summaries of these providers, or of all providers in their trees."""
    positions = _whole_trees(used, view) if whole_trees and view.forest.has_trees else used
    return ProviderSummaries(
        view.revisions[positions].tolist(), partial(_read_columns, positions, view)
    )


def _read_columns(
    positions: Positions, view: View, indexes: Sequence[int]
) -> Iterator[SummaryColumns]:
    """The columns of some summaries; providers with inventories of the same classes together."""
    if not indexes:
        return
    wanted = np.array(indexes, dtype=np.int64)
    shown = positions[wanted]
    has_class: dict[str, Mask] = {}
    class_sets = np.zeros(len(shown), dtype=np.int64)
    for number, (name, inventory) in enumerate(view.inventories.items()):
        has = _has_inventory(shown, inventory)
        if has.any():
            has_class[name] = has
            class_sets = class_sets * 2 + has
        if number % _CLASSES_PER_NUMBERING == 0:
            class_sets = np.unique(class_sets, return_inverse=True)[1]
    numbers, firsts = np.unique(class_sets, return_index=True)
    for number, first in zip(numbers, firsts, strict=True):
        same = class_sets == number
        names = [name for name, has in has_class.items() if has[first]]
        yield _summary_columns(wanted[same].tolist(), shown[same], names, view)


def _summary_columns(
    indexes: list[int], shown: Positions, names: Iterable[str], view: View
) -> SummaryColumns:
    """Providers that all have inventories of these classes."""
    uuids, positions = view.forest.uuids, shown.tolist()
    return SummaryColumns(
        indexes=indexes,
        uuids=[uuids[position] for position in positions],
        root_uuids=[uuids[root] for root in view.forest.roots[shown].tolist()],
        parent_uuids=[
            None if parent == NO_PARENT else uuids[parent]
            for parent in view.forest.parents[shown].tolist()
        ],
        traits=[view.traits_of.get(position, ()) for position in positions],
        inventories=tuple(_usage(name, shown, view.inventories[name]) for name in names),
    )


def _usage(name: str, shown: Positions, inventory: InventoryColumns) -> InventoryUsage:
    entries = np.searchsorted(inventory.positions, shown)
    # Capacities may exceed an integer of NumPy.
    capacities = list(map(int, inventory.capacity[entries].tolist()))
    return InventoryUsage(name, capacities, inventory.used[entries].tolist())


def _has_inventory(shown: Positions, inventory: InventoryColumns) -> Mask:
    entries = np.searchsorted(inventory.positions, shown)
    entries[entries == len(inventory.positions)] = 0
    return np.asarray(inventory.positions[entries] == shown)


def _whole_trees(positions: Positions, view: View) -> Positions:
    """These providers, and all others of their trees."""
    roots = np.unique(view.forest.roots[positions])
    sizes = view.forest.ends[roots] - roots
    begins = np.cumsum(sizes) - sizes
    trees = np.repeat(roots - begins, sizes) + np.arange(sizes.sum())
    # A provider whose row names a wrong root is not in the tree of that root.
    own = view.forest.roots[positions]
    apart = positions[(positions < own) | (positions >= view.forest.ends[own])]
    return np.union1d(trees, apart) if len(apart) else trees
