# SPDX-License-Identifier: Apache-2.0
"""The constraints that the providers of a candidate must satisfy together."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trueup.model.requests import AnyOf, CandidateRequest
from trueup.placement.index.search.match import Slot

SlotNumbers = tuple[int, ...]
"""Some of the slots, by their index."""


@dataclass(frozen=True, slots=True)
class Demand:
    """An amount that a slot takes from a provider, of a resource class or of the provider itself.

    `kind` is the index of the class in `Constraints.contended`, or one more for the provider
    itself, whose amount is 1.
    """

    kind: int
    amount: int


@dataclass(frozen=True, slots=True)
class Constraints:
    """The checks of a candidate beyond the needs of each single slot."""

    contended: tuple[str, ...]
    """Resource classes that several slots compete for."""
    demands: tuple[tuple[Demand, ...], ...]
    """By slot."""
    subtrees: tuple[SlotNumbers, ...]
    """Slots whose providers must be in one subtree: one of them is the others' ancestor."""
    unsuffixed_slots: SlotNumbers
    """The slots of the group without suffix, whose providers must have its traits together."""
    required: tuple[AnyOf, ...]
    """These traits; none for a single slot, whose offers have all of them."""
    distinct_tree_slots: SlotNumbers
    """Slots whose providers must be in different trees, unless they are the same provider."""

    def binds(self, slot: int) -> bool:
        """Whether the choice for this slot restricts the choice for other slots."""
        return bool(
            self.demands[slot]
            or any(slot in members for members in self.subtrees)
            or (self.required and slot in self.unsuffixed_slots)
            or slot in self.distinct_tree_slots
        )


def constrain(
    slots: Sequence[Slot], request: CandidateRequest, has_trees: bool
) -> tuple[tuple[Slot, ...], Constraints]:
    """The slots in the order in which a search fills them, and the constraints between them.

    PERF: slots that restrict others come first, fewest offers first, which leads to few dead ends.
    Slots that only share required traits are the last of them, because `prune` often settles the
    traits, and then these slots restrict no other.
    """
    contended = _contended(slots, request)
    unsuffixed = [group.required for group in request.groups if not group.suffix]
    required = unsuffixed[0] if sum(not slot.suffix for slot in slots) > 1 else ()
    isolates = request.isolate and sum(bool(slot.suffix) for slot in slots) > 1
    # Clients that do not understand nested providers get one provider of each tree.
    one_per_tree = has_trees and not request.nested
    subtrees = [
        suffixes
        for suffixes in dict.fromkeys(request.same_subtrees)
        if sum(slot.suffix in suffixes for slot in slots) > 1
    ]

    def rank(slot: Slot) -> tuple[int, int]:
        restricts = (
            (isolates and slot.suffix)
            or (one_per_tree and slot.resources)
            or any(slot.suffix in suffixes for suffixes in subtrees)
            or any(name in contended for name, _ in slot.resources)
        )
        shares_traits = required and not slot.suffix
        return (0 if restricts else 1 if shares_traits else 2), len(slot.offers.positions)

    ordered = tuple(sorted(slots, key=rank))
    return ordered, Constraints(
        contended=contended,
        demands=tuple(_demands(slot, contended, isolates) for slot in ordered),
        subtrees=tuple(
            _slot_numbers(slot.suffix in suffixes for slot in ordered) for suffixes in subtrees
        ),
        unsuffixed_slots=_slot_numbers(not slot.suffix for slot in ordered),
        required=required,
        distinct_tree_slots=_slot_numbers(
            one_per_tree and bool(slot.resources) for slot in ordered
        ),
    )


def _slot_numbers(selected: Iterable[bool]) -> SlotNumbers:
    return tuple(number for number, is_selected in enumerate(selected) if is_selected)


def _contended(slots: Sequence[Slot], request: CandidateRequest) -> tuple[str, ...]:
    asking = Counter(name for slot in slots for name, _ in slot.resources)
    unsuffixed = {name for slot in slots if not slot.suffix for name, _ in slot.resources}
    # Isolated slots never share a provider with each other, only with the group without suffix.
    return tuple(
        name
        for name, count in asking.items()
        if count > 1 and (name in unsuffixed or not request.isolate)
    )


def _demands(slot: Slot, contended: tuple[str, ...], isolates: bool) -> tuple[Demand, ...]:
    of_classes = (
        Demand(contended.index(name), amount)
        for name, amount in slot.resources
        if name in contended
    )
    whole_provider = [Demand(len(contended), 1)] if isolates and slot.suffix else []
    return (*of_classes, *whole_provider)
