# SPDX-License-Identifier: Apache-2.0
"""Checks whether a partial candidate can be completed, without trying all combinations.

Each kind of constraint is checked by itself. True may still be wrong, but only where constraints of
different kinds exclude each other.
"""

from collections.abc import Sequence

from trueup.placement.index.search.constraints import SlotNumbers
from trueup.placement.index.search.partial_candidate import PartialCandidate

_TRAIT_SETS_MAX = 4096


def can_complete(partial: PartialCandidate) -> bool:
    """False if no candidate begins with these providers."""
    problem = partial.problem
    return (
        all(_demands_can_be_met(partial, kind) for kind in range(len(problem.trees.free)))
        and all(_can_be_one_subtree(partial, slots) for slots in problem.constraints.subtrees)
        and _traits_can_be_had(partial)
    )


def _demands_can_be_met(partial: PartialCandidate, kind: int) -> bool:
    """Whether all open slots could be satisfied if each demanded the least amount.

    A bipartite matching of slots to capacity, by augmenting paths.
    """
    amounts = {
        slot: demand.amount
        for slot in range(len(partial.chosen), len(partial.offers))
        for demand in partial.problem.constraints.demands[slot]
        if demand.kind == kind
    }
    least = min(amounts.values(), default=0)
    offered = {slot: _usable(partial, kind, slot, amounts) for slot in amounts}
    # A slot with as many usable providers as there are slots always finds a free one.
    scarce = {slot: usable for slot, usable in offered.items() if len(usable) < len(amounts)}
    assigned: dict[int, list[int]] = {}

    def assign(slot: int, visited: set[int]) -> bool:
        for position in scarce[slot]:
            if position in visited:
                continue
            visited.add(position)
            slots = assigned.setdefault(position, [])
            if (len(slots) + 1) * least <= partial.free(kind, position):
                slots.append(slot)
                return True
            for index, other in enumerate(slots):
                if assign(other, visited):
                    slots[index] = slot
                    return True
        return False

    return all(assign(slot, set()) for slot in scarce)


def _usable(partial: PartialCandidate, kind: int, slot: int, amounts: dict[int, int]) -> list[int]:
    """Providers with room for the amount of a slot; at most as many as there are slots."""
    usable: list[int] = []
    for position in partial.offers[slot]:
        if partial.free(kind, position) >= amounts[slot]:
            usable.append(position)
            if len(usable) == len(amounts):
                break
    return usable


def _can_be_one_subtree(partial: PartialCandidate, slots: SlotNumbers) -> bool:
    """Whether a chosen or offered provider can be the ancestor of the providers of these slots."""
    chosen = [partial.chosen[slot] for slot in slots if slot < len(partial.chosen)]
    to_come = [partial.offers[slot] for slot in slots if slot >= len(partial.chosen)]
    if not chosen or not to_come:
        return True
    low, high = min(chosen), max(chosen)
    ends = partial.problem.forest.ends
    tops = {low}.union(*to_come)
    return any(
        high < ends.item(top) and _has_offers_of_all(top, ends.item(top), to_come)
        for top in tops
        if top <= low
    )


def _has_offers_of_all(top: int, end: int, to_come: Sequence[Sequence[int]]) -> bool:
    """Whether each slot has an offer in the subtree `[top, end)`."""
    return all(any(top <= position < end for position in offers) for offers in to_come)


def _traits_can_be_had(partial: PartialCandidate) -> bool:
    """Whether the open slots can provide the required traits that are still missing."""
    bits = partial.problem.trees.traits
    if bits is None:
        return True
    missing_sets = {partial.problem.all_traits & ~partial.traits()}
    for slot in partial.problem.constraints.unsuffixed_slots:
        if slot >= len(partial.chosen) and len(missing_sets) <= _TRAIT_SETS_MAX:
            offered = {bits.item(position) for position in partial.offers[slot]}
            missing_sets = {missing & ~traits for missing in missing_sets for traits in offered}
    return 0 in missing_sets or len(missing_sets) > _TRAIT_SETS_MAX
