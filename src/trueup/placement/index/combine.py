# SPDX-License-Identifier: Apache-2.0
"""Joining slots within trees: one provider for each slot, such that all rules hold together.

Candidates are made one by one and only when they are asked for. A choice that breaks a rule is
given up at once, with everything that would have followed from it.
"""

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.model.requests import AnyOf, CandidateRequest
from trueup.placement.index.columns import View
from trueup.placement.index.match import Slot

Choice = tuple[int, ...]
"""The position of the provider for each slot, in the order of the slots."""


@dataclass(frozen=True, slots=True)
class Order:
    """In which order candidates are made, and how many at most."""

    breadth_first: bool = False
    """One candidate of each tree, then another of each, instead of tree after tree."""
    randomize: bool = False
    candidates_max: int | None = None


@dataclass(frozen=True, slots=True)
class _Rules:
    """What choices have to obey, prepared for all trees."""

    view: View
    slots: tuple[Slot, ...]
    contended: frozenset[str]
    """Resource classes that several slots ask for, so that one may take the other's room."""
    isolate: bool
    subtrees: tuple[tuple[int, ...], ...]
    """Sets of slots whose providers need one of them above the others."""
    together: tuple[int, ...]
    """The slots of the group without suffix, whose providers have its traits together."""
    required: tuple[AnyOf, ...]


def combine(
    request: CandidateRequest, slots: Sequence[Slot], view: View, order: Order
) -> Iterator[Choice]:
    """All ways to choose, each once."""
    rules = _rules(request, slots, view)
    anchors: list[int] = _shared_anchors(slots).tolist()
    if order.randomize:
        random.shuffle(anchors)
    trees = (_of_tree(anchor, rules, order) for anchor in anchors)
    # A random sample must not come from the first tree alone.
    in_turn = order.breadth_first or order.randomize
    found = _in_turn(trees) if in_turn else itertools.chain.from_iterable(trees)
    yield from itertools.islice(_once(found, view), order.candidates_max)


def _rules(request: CandidateRequest, slots: Sequence[Slot], view: View) -> _Rules:
    asking = Counter(name for slot in slots for name, _ in slot.resources)
    together = tuple(place for place, slot in enumerate(slots) if not slot.suffix)
    required = next((group.required for group in request.groups if not group.suffix), ())
    return _Rules(
        view=view,
        slots=tuple(slots),
        contended=frozenset(name for name, count in asking.items() if count > 1),
        isolate=request.isolate,
        subtrees=tuple(
            tuple(place for place, slot in enumerate(slots) if slot.suffix in suffixes)
            for suffixes in request.same_subtrees
        ),
        together=together,
        required=required,
    )


def _shared_anchors(slots: Sequence[Slot]) -> np.ndarray:
    shared = np.unique(slots[0].anchors)
    for slot in slots[1:]:
        shared = np.intersect1d(shared, slot.anchors)
    return shared


def _of_tree(anchor: int, rules: _Rules, order: Order) -> Iterator[Choice]:
    offers = [slot.of_anchor(anchor) for slot in rules.slots]
    if not _could_fit(offers, rules):
        return
    if order.randomize:
        for offer in offers:
            random.shuffle(offer)
    yield from _choose(offers, rules, (), Counter())


def _choose(
    offers: Sequence[Sequence[int]],
    rules: _Rules,
    chosen: Choice,
    taken: Counter[tuple[int, str]],
) -> Iterator[Choice]:
    """All ways to go on from the slots that are chosen already."""
    place = len(chosen)
    if place == len(offers):
        yield chosen
        return
    slot = rules.slots[place]
    contended = [one for one in slot.resources if one[0] in rules.contended]
    for position in offers[place]:
        if not _may_choose(position, chosen, rules):
            continue
        if not _has_room(position, contended, taken, rules.view):
            continue
        for name, amount in contended:
            taken[position, name] += amount
        yield from _choose(offers, rules, (*chosen, position), taken)
        for name, amount in contended:
            taken[position, name] -= amount


def _may_choose(position: int, chosen: Choice, rules: _Rules) -> bool:
    place = len(chosen)
    if rules.isolate and rules.slots[place].suffix:
        for earlier, other in enumerate(chosen):
            if other == position and rules.slots[earlier].suffix:
                return False
    now = (*chosen, position)
    for members in rules.subtrees:
        if members[-1] == place and not rules.view.forest.is_one_subtree(
            [now[member] for member in members]
        ):
            return False
    if rules.required and rules.together and rules.together[-1] == place:
        return _have_traits([now[member] for member in rules.together], rules)
    return True


def _have_traits(positions: Iterable[int], rules: _Rules) -> bool:
    """Whether these providers have the traits that are required of them together."""
    traits: set[str] = set()
    for position in positions:
        traits.update(rules.view.traits_of.get(position, ()))
    return all(not any_of.isdisjoint(traits) for any_of in rules.required)


def _has_room(
    position: int,
    contended: Iterable[tuple[str, int]],
    taken: Counter[tuple[int, str]],
    view: View,
) -> bool:
    for name, amount in contended:
        wanted = taken[position, name] + amount
        free, most = view.stocks[name].room_of(position)
        if wanted > free or wanted > most:
            return False
    return True


def _could_fit(offers: Sequence[Sequence[int]], rules: _Rules) -> bool:
    """A quick look that spares trying everything in a tree that is too small."""
    for name in rules.contended:
        asking = [
            (place, amount)
            for place, slot in enumerate(rules.slots)
            for other, amount in slot.resources
            if other == name
        ]
        offering = {position for place, _ in asking for position in offers[place]}
        stocks = rules.view.stocks[name]
        free = sum(min(stocks.room_of(position)) for position in offering)
        if free < sum(amount for _, amount in asking):
            return False
    if rules.isolate:
        places = [place for place, slot in enumerate(rules.slots) if slot.suffix]
        offering = {position for place in places for position in offers[place]}
        return len(offering) >= len(places)
    return True


def _once(found: Iterable[Choice], view: View) -> Iterator[Choice]:
    """Without repetitions: providers that share offer the same choice to several trees."""
    seen: set[Choice] = set()
    for choice in found:
        if all(position in view.shared_with for position in choice):
            if choice in seen:
                continue
            seen.add(choice)
        yield choice


def _in_turn(trees: Iterable[Iterator[Choice]]) -> Iterator[Choice]:
    """One of each, then another of each, until all are exhausted."""
    active = list(trees)
    while active:
        still = []
        for tree in active:
            choice = next(tree, None)
            if choice is not None:
                still.append(tree)
                yield choice
        active = still
