# SPDX-License-Identifier: Apache-2.0
"""What the providers chosen for the slots of a request have to obey together."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from trueup.model.requests import AnyOf, CandidateRequest
from trueup.placement.index.search.match import Slot

Places = tuple[int, ...]
"""Some of the slots, by their number."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a slot takes away from other slots: an amount of a resource class, or a whole provider.

    `kind` counts the resource classes that several slots ask for; one more, the last, stands for
    the provider itself, of which there is one.
    """

    kind: int
    amount: int


@dataclass(frozen=True, slots=True)
class Rules:
    """All that a choice of providers is checked for; by number of the slot where it says so."""

    contended: tuple[str, ...]
    """Resource classes that several slots ask for, so that one may take the other's room."""
    demands: tuple[tuple[Demand, ...], ...]
    """By slot."""
    subtrees: tuple[Places, ...]
    """Sets of slots whose providers need one of them above the others."""
    together: Places
    """The slots of the group without suffix, whose providers have its traits together."""
    required: tuple[AnyOf, ...]
    """Those traits; none if it is one slot, which was only offered to who has them all."""
    apart: Places
    """Slots whose providers, where they differ, have to be of different trees."""

    def binds(self, place: int) -> bool:
        """Whether it matters to other slots what is chosen here."""
        return bool(
            self.demands[place]
            or any(place in members for members in self.subtrees)
            or (self.required and place in self.together)
            or place in self.apart
        )


def rules_of(request: CandidateRequest, slots: Sequence[Slot], has_trees: bool) -> Rules:
    """The rules for choices from these slots."""
    contended = _contended(request, slots)
    together = tuple(place for place, slot in enumerate(slots) if not slot.suffix)
    subtrees = (
        tuple(place for place, slot in enumerate(slots) if slot.suffix in suffixes)
        for suffixes in request.same_subtrees
    )
    # Clients that do not know trees are offered what takes one provider of each.
    flattens = has_trees and not request.nested
    return Rules(
        contended=contended,
        demands=_demands(request, slots, contended),
        subtrees=tuple(dict.fromkeys(members for members in subtrees if len(members) > 1)),
        together=together,
        required=_required(request) if len(together) > 1 else (),
        apart=tuple(place for place, slot in enumerate(slots) if flattens and slot.resources),
    )


def _required(request: CandidateRequest) -> tuple[AnyOf, ...]:
    return next((group.required for group in request.groups if not group.suffix), ())


def _contended(request: CandidateRequest, slots: Sequence[Slot]) -> tuple[str, ...]:
    asking = Counter(name for slot in slots for name, _ in slot.resources)
    spread = {name for slot in slots if not slot.suffix for name, _ in slot.resources}
    # Slots that are isolated do not meet each other, only those of the group without suffix.
    contended = (
        name
        for name, count in asking.items()
        if count > 1 and (name in spread or not request.isolate)
    )
    # SAFETY: kinds have the same numbers in whatever order the slots are.
    return tuple(sorted(contended))


def _demands(
    request: CandidateRequest, slots: Sequence[Slot], contended: tuple[str, ...]
) -> tuple[tuple[Demand, ...], ...]:
    isolates = request.isolate and sum(bool(slot.suffix) for slot in slots) > 1
    whole = Demand(len(contended), 1)
    return tuple(
        (
            *(
                Demand(contended.index(name), amount)
                for name, amount in slot.resources
                if name in contended
            ),
            *([whole] if isolates and slot.suffix else []),
        )
        for slot in slots
    )
