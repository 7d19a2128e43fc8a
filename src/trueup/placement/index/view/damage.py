# SPDX-License-Identifier: Apache-2.0
"""What is wrong in a view, and no Placement service can have written meanwhile.

Services raise the generation of a provider with each change of its inventories and traits, and with
each claim; only releasing a claim does not. So where the generations of view and ledger are equal,
usage cannot have grown, and inventories and traits must be equal.
"""

from collections.abc import Collection, Iterator

import numpy as np

from trueup.placement.index.view.columns import Integers, Mask, View


def grown_usage(view: View, current: View) -> frozenset[str]:
    """The UUIDs of providers whose usage is larger than in `view`, at the same generation."""
    if view is current or not _has_same_providers(view, current):
        return frozenset()
    grown = np.zeros(len(view.forest), dtype=np.bool_)
    for name, inventory in view.inventories.items():
        other = current.inventories.get(name)
        if other is not None and np.array_equal(inventory.positions, other.positions):
            grown[inventory.positions[other.used > inventory.used]] = True
    return _uuids(view, grown & (view.generations == current.generations))


def other_content(view: View, loaded: View, unsure: Collection[int]) -> frozenset[str]:
    """The UUIDs of providers with other inventories or traits, at the same generation.

    `unsure` are the ids of providers whose generation a claim has raised: it may hide a change.
    """
    if not _has_same_providers(view, loaded):
        return frozenset()
    differs = np.zeros(len(view.forest), dtype=np.bool_)
    for name in view.inventories.keys() | loaded.inventories.keys():
        one, other = (_marks(each, name) for each in (view, loaded))
        differs |= one != other
    for position in _with_other_traits(view, loaded):
        differs[position] = True
    known = ~np.isin(view.forest.ids, list(unsure))
    return _uuids(view, differs & known & (view.generations == loaded.generations))


def _has_same_providers(view: View, other: View) -> bool:
    return np.array_equal(view.forest.ids, other.forest.ids)


def _marks(view: View, name: str) -> Integers:
    marks = np.full(len(view.forest), -1)
    if name in view.inventories:
        inventory = view.inventories[name]
        marks[inventory.positions] = inventory.marks
    return marks


def _with_other_traits(view: View, loaded: View) -> Iterator[int]:
    for position in view.traits_of.keys() | loaded.traits_of.keys():
        if view.traits_of.get(position) != loaded.traits_of.get(position):
            yield position


def _uuids(view: View, chosen: Mask) -> frozenset[str]:
    return frozenset(view.forest.uuids[position] for position in np.flatnonzero(chosen))
