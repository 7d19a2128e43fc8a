# SPDX-License-Identifier: Apache-2.0
"""Whether a hand can still become a choice: answered without trying all ways to go on.

Each kind of rule is looked at for itself. Who is told yes may still find out that the rules do not
hold together, but that takes rules that work against each other.
"""

from collections.abc import Sequence

from trueup.placement.index.search.constraints import Places
from trueup.placement.index.search.partial import Hand

_TRAIT_SETS_MAX = 4096


def could_go_on(hand: Hand) -> bool:
    """False if no choice begins with the providers in this hand."""
    return (
        all(_all_find_seats(hand, kind) for kind in range(len(hand.table.trees.rooms)))
        and all(_one_can_be_above(hand, places) for places in hand.table.rules.subtrees)
        and _traits_can_be_had(hand)
    )


def _all_find_seats(hand: Hand, kind: int) -> bool:
    """Whether all slots to come could get what they take of one kind, if all took the least.

    A matching of slots to seats, by augmenting paths.
    """
    amounts = {
        place: demand.amount
        for place in range(len(hand.chosen), len(hand.offers))
        for demand in hand.table.rules.demands[place]
        if demand.kind == kind
    }
    least = min(amounts.values(), default=0)
    offered = {place: _usable(hand, kind, place, amounts) for place in amounts}
    # With as many providers to choose from as there are slots, one is always left.
    pressed = {place: found for place, found in offered.items() if len(found) < len(amounts)}
    sitting: dict[int, list[int]] = {}

    def sit(place: int, asked: set[int]) -> bool:
        for position in pressed[place]:
            if position in asked:
                continue
            asked.add(position)
            there = sitting.setdefault(position, [])
            if (len(there) + 1) * least <= hand.room(kind, position):
                there.append(place)
                return True
            for seat, other in enumerate(there):
                if sit(other, asked):
                    there[seat] = place
                    return True
        return False

    return all(sit(place, set()) for place in pressed)


def _usable(hand: Hand, kind: int, place: int, amounts: dict[int, int]) -> list[int]:
    """Providers that still have room for a slot: as many as there are slots are enough."""
    found: list[int] = []
    for position in hand.offers[place]:
        if hand.room(kind, position) >= amounts[place]:
            found.append(position)
            if len(found) == len(amounts):
                break
    return found


def _one_can_be_above(hand: Hand, places: Places) -> bool:
    """Whether one provider, chosen or to come, can be above all those of a subtree."""
    chosen = [hand.chosen[place] for place in places if place < len(hand.chosen)]
    to_come = [hand.offers[place] for place in places if place >= len(hand.chosen)]
    if not chosen or not to_come:
        return True
    low, high = min(chosen), max(chosen)
    ends = hand.table.forest.ends
    tops = {low}.union(*to_come)
    return any(
        high < ends.item(top) and _reaches_all(top, ends.item(top), to_come)
        for top in tops
        if top <= low
    )


def _reaches_all(top: int, end: int, to_come: Sequence[Sequence[int]]) -> bool:
    return all(any(top <= position < end for position in offers) for offers in to_come)


def _traits_can_be_had(hand: Hand) -> bool:
    """Whether the slots to come can have the required traits that are still missing."""
    bits = hand.table.trees.traits
    if bits is None:
        return True
    missing = hand.table.all_traits & ~hand.traits()
    left = {missing}
    for place in hand.table.rules.together:
        if place >= len(hand.chosen) and len(left) <= _TRAIT_SETS_MAX:
            had = {bits.item(position) for position in hand.offers[place]}
            left = {traits & ~some for traits in left for some in had}
    return 0 in left or len(left) > _TRAIT_SETS_MAX
