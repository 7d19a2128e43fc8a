# SPDX-License-Identifier: Apache-2.0
"""Removes trees and offers that no candidate can use, with arrays, for all trees at once.

The remaining offers may still not fit together; the search of each tree finds that out.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.model.requests import AnyOf
from trueup.placement.index.search.constraints import Constraints, SlotNumbers
from trueup.placement.index.search.match import NoCandidates, Offers, Slot, with_any_trait
from trueup.placement.index.view.columns import Integers, Mask, View
from trueup.placement.index.view.forest import Positions

_BITS_MAX = 62
"""The bits of an integer in an array. For more traits, the array holds Python's integers."""


@dataclass(frozen=True, slots=True)
class PrunedTrees:
    """The trees that may have candidates, with the offers of their providers."""

    anchors: Positions
    slots: tuple[Slot, ...]
    firsts: Mapping[Offers, Positions]
    """The index of the first offer of each tree, and the number of offers as the last entry."""
    free: tuple[Integers, ...]
    """By kind of demand, by position: the amount that several slots may take together."""
    traits: NDArray[Any] | None = None
    """By position: a bit for each trait that several slots must have together.

    None if every choice has all of them.
    """


def prune(slots: Sequence[Slot], constraints: Constraints, view: View) -> PrunedTrees:
    """The trees in which each slot has offers. Raises NoCandidates if there is none."""
    for members in constraints.subtrees:
        slots = _within_subtrees(slots, members, view)
    whole_providers = np.ones(len(view.forest), dtype=np.int64)
    free = (*(_free(name, view) for name in constraints.contended), whole_providers)
    trees = _with_offers_for_all(slots, free)
    trees = _only(trees, _have_capacity(trees, constraints))
    if constraints.required:
        trees = _with_required_traits(trees, constraints, view)
    return trees


def _within_subtrees(slots: Sequence[Slot], members: SlotNumbers, view: View) -> tuple[Slot, ...]:
    """Keep offers in the subtree of an offered provider below which each slot has an offer."""
    ends = view.forest.ends
    starts = np.arange(len(ends))
    distinct = dict.fromkeys(slots[number].offers for number in members)
    offered = [view.mask_of([offers.positions]) for offers in distinct]
    is_top = np.logical_or.reduce(offered)
    for mask in offered:
        counted = np.concatenate(([0], np.cumsum(mask)))
        is_top &= counted[ends] > counted[starts]
    tops = np.flatnonzero(is_top)
    edges = np.bincount(tops, minlength=len(ends) + 1)
    edges -= np.bincount(ends[tops], minlength=len(ends) + 1)
    is_below_top = np.cumsum(edges)[:-1] > 0
    return _with_offers(slots, members, lambda offers: offers.only(is_below_top[offers.positions]))


def _with_offers(
    slots: Sequence[Slot], members: SlotNumbers, change: Callable[[Offers], Offers]
) -> tuple[Slot, ...]:
    """Change the offers of some slots. Slots that shared an object still do."""
    changed = {offers: change(offers) for offers in {slots[number].offers for number in members}}
    return tuple(
        replace(slot, offers=changed[slot.offers]) if number in members else slot
        for number, slot in enumerate(slots)
    )


def _with_offers_for_all(slots: Sequence[Slot], free: tuple[Integers, ...]) -> PrunedTrees:
    """Only the trees in which each slot has an offer."""
    has_all = np.ones(len(free[-1]), dtype=np.bool_)
    for offers in {slot.offers for slot in slots}:
        has_offer = np.zeros(len(has_all), dtype=np.bool_)
        has_offer[offers.anchors] = True
        has_all &= has_offer
    every = tuple(range(len(slots)))
    slots = _with_offers(slots, every, lambda offers: offers.only(has_all[offers.anchors]))
    firsts = {slot.offers: _firsts(slot.offers.anchors) for slot in slots}
    anchors = np.flatnonzero(has_all)
    if not len(anchors):
        raise NoCandidates
    return PrunedTrees(anchors, slots, firsts, free)


def _firsts(anchors: Positions) -> Positions:
    """The first index of each anchor, and the length."""
    return np.concatenate(([0], np.flatnonzero(np.diff(anchors)) + 1, [len(anchors)]))


def _only(trees: PrunedTrees, kept: Mask) -> PrunedTrees:
    """The trees for which `kept` is true."""
    if kept.all():
        return trees
    is_kept = np.zeros(len(trees.free[-1]), dtype=np.bool_)
    is_kept[trees.anchors[kept]] = True
    every = tuple(range(len(trees.slots)))
    slots = _with_offers(trees.slots, every, lambda offers: offers.only(is_kept[offers.anchors]))
    return replace(_with_offers_for_all(slots, trees.free), traits=trees.traits)


def _free(name: str, view: View) -> Integers:
    """By position: the amount of a class that one request can get."""
    inventory = view.inventories[name]
    free = np.zeros(len(view.forest), dtype=np.int64)
    free[inventory.positions] = inventory.free()
    return free


def _have_capacity(trees: PrunedTrees, constraints: Constraints) -> Mask:
    """By tree: whether it has room for all slots with the same offers and the same demand."""
    enough = np.ones(len(trees.anchors), dtype=np.bool_)
    same = Counter(
        (slot.offers, demand)
        for slot, demands in zip(trees.slots, constraints.demands, strict=True)
        for demand in demands
    )
    for (offers, demand), count in same.items():
        if count > 1:
            capacity = trees.free[demand.kind][offers.positions] // demand.amount
            enough &= np.add.reduceat(capacity, trees.firsts[offers][:-1]) >= count
    return enough


def _with_required_traits(trees: PrunedTrees, constraints: Constraints, view: View) -> PrunedTrees:
    """The trees whose slots can have the traits together, with the traits of each provider."""
    bits, full = _trait_bits(constraints.required, view), (1 << len(constraints.required)) - 1
    possible = certain = np.zeros(len(trees.anchors), dtype=bits.dtype)
    for number in constraints.unsuffixed_slots:
        offers = trees.slots[number].offers
        of_offers, firsts = bits[offers.positions], trees.firsts[offers][:-1]
        possible = possible | np.bitwise_or.reduceat(of_offers, firsts)
        certain = certain | np.bitwise_and.reduceat(of_offers, firsts)
    kept = possible == full
    is_settled = bool(np.all(certain[kept] == full))
    return replace(_only(trees, kept), traits=None if is_settled else bits)


def _trait_bits(required: Sequence[AnyOf], view: View) -> NDArray[Any]:
    """By position: a bit for each required trait that the provider has."""
    kind = np.int64 if len(required) <= _BITS_MAX else np.object_
    bits: NDArray[Any] = np.zeros(len(view.forest), dtype=kind)
    for number, any_of in enumerate(required):
        bits = bits | with_any_trait(view, any_of).astype(kind) * (1 << number)
    return bits
