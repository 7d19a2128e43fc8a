# SPDX-License-Identifier: Apache-2.0
"""Leaving out what no candidate can use, for all trees at once.

What is left out cannot be used; what is left may still turn out not to fit together, which is
found out tree by tree.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.model.requests import AnyOf
from trueup.placement.index.search.constraints import Places, Rules
from trueup.placement.index.search.match import NothingFits, Offers, Slot, with_any_trait
from trueup.placement.index.view.columns import Integers, Mask, View
from trueup.placement.index.view.forest import Positions

_BITS_MAX = 62
"""Of an integer in an array; with more traits than that, the array holds Python's."""


@dataclass(frozen=True, slots=True)
class Trees:
    """The trees that are left, and what their providers offer and are worth to the rules."""

    anchors: Positions
    slots: tuple[Slot, ...]
    firsts: Mapping[Offers, Positions]
    """Where the offers of each tree begin; one entry more than there are anchors."""
    rooms: tuple[Integers, ...]
    """By kind of demand and position: how much of it several slots may take together."""
    traits: NDArray[Any] | None = None
    """By position: a bit for each of the traits that are required of several slots together.

    None if they have them anyway.
    """


def narrow(slots: Sequence[Slot], rules: Rules, view: View) -> Trees:
    """The trees in which each slot has offers. Raises NothingFits if there are none."""
    for places in rules.subtrees:
        slots = _below_each_other(slots, places, view)
    ones = np.ones(len(view.forest), dtype=np.int64)
    rooms = (*(_rooms(name, view) for name in rules.contended), ones)
    trees = _aligned(slots, rooms)
    trees = _only(trees, _have_seats(trees, rules))
    if rules.required:
        trees = _with_required_traits(trees, rules, view)
    return trees


def _below_each_other(slots: Sequence[Slot], places: Places, view: View) -> tuple[Slot, ...]:
    """Without offers that are not below (or are) one that has an offer of each slot below it."""
    ends = view.forest.ends
    starts = np.arange(len(ends))
    distinct = dict.fromkeys(slots[place].offers for place in places)
    offered = [view.mask_of([offers.positions]) for offers in distinct]
    complete = np.logical_or.reduce(offered)
    for mask in offered:
        counted = np.concatenate(([0], np.cumsum(mask)))
        complete &= counted[ends] > counted[starts]
    tops = np.flatnonzero(complete)
    edges = np.bincount(tops, minlength=len(ends) + 1)
    edges -= np.bincount(ends[tops], minlength=len(ends) + 1)
    inside = np.cumsum(edges)[:-1] > 0
    return _with_offers(slots, places, lambda offers: offers.only(inside[offers.positions]))


def _with_offers(
    slots: Sequence[Slot], places: Places, change: Callable[[Offers], Offers]
) -> tuple[Slot, ...]:
    """Other offers in some places; slots that shared theirs still do."""
    changed = {offers: change(offers) for offers in {slots[place].offers for place in places}}
    return tuple(
        replace(slot, offers=changed[slot.offers]) if place in places else slot
        for place, slot in enumerate(slots)
    )


def _aligned(slots: Sequence[Slot], rooms: tuple[Integers, ...]) -> Trees:
    """Only the trees in which each slot has an offer."""
    alive = np.ones(len(rooms[-1]), dtype=np.bool_)
    for offers in {slot.offers for slot in slots}:
        there = np.zeros(len(alive), dtype=np.bool_)
        there[offers.anchors] = True
        alive &= there
    every = tuple(range(len(slots)))
    slots = _with_offers(slots, every, lambda offers: offers.only(alive[offers.anchors]))
    firsts = {slot.offers: _firsts(slot.offers.anchors) for slot in slots}
    anchors = np.flatnonzero(alive)
    if not len(anchors):
        raise NothingFits
    return Trees(anchors, slots, firsts, rooms)


def _firsts(anchors: Positions) -> Positions:
    """Where each anchor comes up first, and the end."""
    return np.concatenate(([0], np.flatnonzero(np.diff(anchors)) + 1, [len(anchors)]))


def _only(trees: Trees, good: Mask) -> Trees:
    """Some of the trees."""
    if good.all():
        return trees
    alive = np.zeros(len(trees.rooms[-1]), dtype=np.bool_)
    alive[trees.anchors[good]] = True
    every = tuple(range(len(trees.slots)))
    slots = _with_offers(trees.slots, every, lambda offers: offers.only(alive[offers.anchors]))
    return replace(_aligned(slots, trees.rooms), traits=trees.traits)


def _rooms(name: str, view: View) -> Integers:
    """By position: how much of a class one consumer may have there."""
    stocks = view.inventories[name]
    rooms = np.zeros(len(view.forest), dtype=np.int64)
    rooms[stocks.positions] = stocks.free()
    return rooms


def _have_seats(trees: Trees, rules: Rules) -> Mask:
    """Which trees have room for all slots that are alike."""
    good = np.ones(len(trees.anchors), dtype=np.bool_)
    alike = Counter(
        (slot.offers, demand)
        for slot, demands in zip(trees.slots, rules.demands, strict=True)
        for demand in demands
    )
    for (offers, demand), count in alike.items():
        if count > 1:
            seats = trees.rooms[demand.kind][offers.positions] // demand.amount
            good &= np.add.reduceat(seats, trees.firsts[offers][:-1]) >= count
    return good


def _with_required_traits(trees: Trees, rules: Rules, view: View) -> Trees:
    """The trees whose slots could have the traits together, and what each provider has of them."""
    bits, full = _trait_bits(rules.required, view), (1 << len(rules.required)) - 1
    possible = sure = np.zeros(len(trees.anchors), dtype=bits.dtype)
    for place in rules.together:
        offers = trees.slots[place].offers
        of_offers, firsts = bits[offers.positions], trees.firsts[offers][:-1]
        possible = possible | np.bitwise_or.reduceat(of_offers, firsts)
        sure = sure | np.bitwise_and.reduceat(of_offers, firsts)
    good = possible == full
    settled = bool(np.all(sure[good] == full))
    return replace(_only(trees, good), traits=None if settled else bits)


def _trait_bits(required: Sequence[AnyOf], view: View) -> NDArray[Any]:
    """By position: a bit for each of these that it has."""
    kind = np.int64 if len(required) <= _BITS_MAX else np.object_
    bits: NDArray[Any] = np.zeros(len(view.forest), dtype=kind)
    for number, any_of in enumerate(required):
        bits = bits | with_any_trait(view, any_of).astype(kind) * (1 << number)
    return bits
