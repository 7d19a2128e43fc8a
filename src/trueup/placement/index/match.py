# SPDX-License-Identifier: Apache-2.0
"""Which providers satisfy one request group, and in which trees they can be used.

The result are slots. A slot is a part of the request that one provider has to satisfy: the whole
of a group with a suffix, or one resource class of the group without. A slot offers pairs of an
anchor (the root of the tree a candidate is for) and a provider: one of that tree, or one that
shares with it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from trueup.model.errors import ResourceClassNotFound, TraitNotFound
from trueup.model.requests import AnyOf, CandidateRequest, RequestGroup
from trueup.placement.index.columns import NOBODY, Mask, View
from trueup.placement.index.forest import NO_PARENT, Positions


@dataclass(frozen=True, slots=True)
class Slot:
    """What one provider has to give, and the pairs that could: sorted by anchor."""

    suffix: str
    resources: tuple[tuple[str, int], ...]
    anchors: Positions
    positions: Positions

    def of_anchor(self, anchor: int) -> list[int]:
        """The providers that could satisfy the slot for this anchor."""
        first, last = np.searchsorted(self.anchors, [anchor, anchor + 1])
        found: list[int] = self.positions[first:last].tolist()
        return found


class NothingFits(Exception):
    """Some part of the request can be satisfied by nobody."""


def match_request(request: CandidateRequest, view: View) -> list[Slot]:
    """The slots of all groups.

    Raises NothingFits, and ResourceClassNotFound or TraitNotFound for names that do not exist. As
    upstream, names in groups after one that nobody satisfies are not looked at.
    """
    anchors = _allowed_roots(request, view)
    slots: list[Slot] = []
    for group in request.groups:
        found = _match_group(group, view, anchors)
        if any(len(slot.anchors) == 0 for slot in found):
            raise NothingFits
        slots += found
    return slots


def _allowed_roots(request: CandidateRequest, view: View) -> Mask | None:
    """True for the roots whose own traits are right; None if any will do."""
    if not request.root_required and not request.root_forbidden:
        return None
    _refuse_unknown_traits([*request.root_required, *request.root_forbidden], view)
    allowed = view.forest.parents == NO_PARENT
    for name in request.root_required:
        allowed &= view.mask_of([view.having.get(name, NOBODY)])
    allowed &= ~_with_any_trait(view, request.root_forbidden)
    if not allowed.any():
        raise NothingFits
    return np.asarray(allowed)


def _match_group(group: RequestGroup, view: View, allowed: Mask | None) -> list[Slot]:
    for name, _ in group.resources:
        if name not in view.class_ids:
            raise ResourceClassNotFound(name)
    inside = _in_aggregates(view, group.member_of)
    _refuse_unknown_traits([name for any_of in group.required for name in sorted(any_of)], view)
    _refuse_unknown_traits(sorted(group.forbidden), view)
    room = _rooms(group, view)
    if group.one_provider or view.is_flat:
        positions = _matching_alone(group, view, inside, room)
        sharing = np.intersect1d(positions, view.sharing)
        anchors, positions = _paired(view, positions, sharing)
        anchors, positions = _with_allowed(anchors, positions, allowed)
        return [Slot(group.suffix, group.resources, anchors, positions)]
    return [
        _spread_slot(group, one, view, inside, room[one[0]], allowed)
        for one in sorted(group.resources, key=lambda one: view.class_ids[one[0]])
    ]


def _matching_alone(
    group: RequestGroup, view: View, inside: Mask | None, room: dict[str, Positions]
) -> Positions:
    """The providers that satisfy the whole group, each alone."""
    if not group.resources and not group.required and not group.member_of:
        # PARITY: a group without resources needs something that it requires, else it finds nobody.
        raise NothingFits
    matching = np.ones(len(view.forest), dtype=np.bool_)
    for positions in room.values():
        matching &= view.mask_of([positions])
    for any_of in group.required:
        matching &= _with_any_trait(view, any_of)
    if inside is not None:
        matching &= inside
    matching &= ~view.mask_of(_members(view, group.forbidden_aggregates))
    matching &= ~_with_any_trait(view, group.forbidden)
    return np.flatnonzero(matching)


def _spread_slot(
    group: RequestGroup,
    resource: tuple[str, int],
    view: View,
    inside: Mask | None,
    room: Positions,
    allowed: Mask | None,
) -> Slot:
    """The providers that could give one class, for a group that many may satisfy together."""
    sharing = NOBODY
    if group.in_tree is None:
        sharing = np.intersect1d(room, view.sharing)
        if inside is not None:
            sharing = sharing[inside[sharing]]
    anchors, positions = _paired(view, room, sharing)
    anchors, positions = _with_allowed(anchors, positions, allowed)
    # The aggregates of a root are those of its whole tree.
    good = np.ones(len(anchors), dtype=np.bool_)
    if inside is not None:
        good &= inside[positions] | inside[anchors]
    outside = view.mask_of(_members(view, group.forbidden_aggregates))
    good &= ~(outside[positions] | outside[anchors])
    good &= ~_with_any_trait(view, group.forbidden)[positions]
    return Slot(group.suffix, (resource,), anchors[good], positions[good])


def _paired(view: View, positions: Positions, sharing: Positions) -> tuple[Positions, Positions]:
    """Each provider with its own root, and those that share with every root they share with."""
    anchors = [view.forest.roots[positions]]
    offered = [positions]
    for position in sharing.tolist():
        roots = view.shared_with[position]
        others = roots[roots != view.forest.roots[position]]
        anchors.append(others)
        offered.append(np.full(len(others), position, dtype=np.int64))
    if len(anchors) == 1:
        # Sorted already: trees lie one after the other.
        return anchors[0], offered[0]
    all_anchors, all_offered = np.concatenate(anchors), np.concatenate(offered)
    order = np.lexsort((all_offered, all_anchors))
    return all_anchors[order], all_offered[order]


def _with_allowed(
    anchors: Positions, positions: Positions, allowed: Mask | None
) -> tuple[Positions, Positions]:
    if allowed is None:
        return anchors, positions
    return anchors[allowed[anchors]], positions[allowed[anchors]]


def _rooms(group: RequestGroup, view: View) -> dict[str, Positions]:
    """By class: who has room for the amount, within the tree that is asked for."""
    tree = None
    if group.in_tree is not None:
        # PARITY: this does not bind a group without resources.
        position = view.forest.by_uuid.get(group.in_tree)
        if position is None:
            raise NothingFits
        tree = view.forest.tree_of(position)
    rooms = {}
    for name, amount in group.resources:
        stocks = view.stocks.get(name)
        room = stocks.with_room(amount) if stocks else NOBODY
        if tree is not None:
            room = room[(room >= tree.start) & (room < tree.stop)]
        if len(room) == 0:
            raise NothingFits
        rooms[name] = room
    return rooms


def _in_aggregates(view: View, member_of: tuple[AnyOf, ...]) -> Mask | None:
    """True for members of one aggregate out of each alternatives; None if any will do."""
    if not member_of:
        return None
    inside = np.ones(len(view.forest), dtype=np.bool_)
    for any_of in member_of:
        inside &= view.mask_of(_members(view, any_of))
    if not inside.any():
        raise NothingFits
    return inside


def _members(view: View, aggregates: Iterable[str]) -> list[Positions]:
    return [view.members[uuid] for uuid in aggregates if uuid in view.members]


def _with_any_trait(view: View, names: Iterable[str]) -> Mask:
    return view.mask_of(view.having[name] for name in names if name in view.having)


def _refuse_unknown_traits(names: Iterable[str], view: View) -> None:
    for name in names:
        if name not in view.trait_ids:
            raise TraitNotFound(name)
