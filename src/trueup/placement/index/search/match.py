# SPDX-License-Identifier: Apache-2.0
"""Which providers satisfy one request group, and in which trees they can be used.

The result are slots. A slot is a part of the request that one provider has to satisfy: the whole
of a group with a suffix, or one resource class of the group without. A slot offers pairs of an
anchor (the root of the tree a candidate is for) and a provider: one of that tree, or one that
shares with it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from trueup.model.errors import ResourceClassNotFound, TraitNotFound
from trueup.model.requests import AnyOf, CandidateRequest, RequestGroup
from trueup.placement.index.view.columns import NO_PROVIDERS, Mask, View
from trueup.placement.index.view.forest import NO_PARENT, Positions


@dataclass(frozen=True, slots=True, eq=False)
class Offers:
    """Pairs of an anchor and a provider, sorted by anchor. Slots that ask for the same share it."""

    anchors: Positions
    positions: Positions

    def __len__(self) -> int:
        return len(self.positions)

    def only(self, kept: Mask) -> "Offers":
        """Some of the pairs."""
        return self if kept.all() else Offers(self.anchors[kept], self.positions[kept])


@dataclass(frozen=True, slots=True)
class Slot:
    """What one provider has to give, and who could."""

    suffix: str
    resources: tuple[tuple[str, int], ...]
    offers: Offers


class NothingFits(Exception):
    """Some part of the request can be satisfied by nobody."""


def match_request(request: CandidateRequest, view: View) -> list[Slot]:
    """The slots of all groups.

    Raises NothingFits, and ResourceClassNotFound or TraitNotFound for names that do not exist. As
    upstream, names in groups after one that nobody satisfies are not looked at.
    """
    allowed = _allowed_roots(request, view)
    slots: list[Slot] = []
    # PERF: devices are asked for by groups that differ in nothing but their suffix.
    alike: dict[tuple[bool, RequestGroup], list[Slot]] = {}
    for group in request.groups:
        kind = (group.one_provider, replace(group, suffix=""))
        if kind not in alike:
            alike[kind] = _match_group(group, view, allowed)
        found = [replace(slot, suffix=group.suffix) for slot in alike[kind]]
        if not all(len(slot.offers) for slot in found):
            raise NothingFits
        slots += found
    return slots


def with_any_trait(view: View, names: Iterable[str]) -> Mask:
    """True for the providers that have at least one of these traits."""
    return view.mask_of(
        view.providers_by_trait[name] for name in names if name in view.providers_by_trait
    )


def _allowed_roots(request: CandidateRequest, view: View) -> Mask | None:
    """True for the roots whose own traits are right; None if any will do."""
    if not request.root_required and not request.root_forbidden:
        return None
    _refuse_unknown_traits([*request.root_required, *request.root_forbidden], view)
    allowed = view.forest.parents == NO_PARENT
    for name in request.root_required:
        allowed &= with_any_trait(view, [name])
    if request.root_forbidden:
        allowed &= ~with_any_trait(view, request.root_forbidden)
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
        positions = _matching_alone(group, view, inside, list(room.values()))
        offers = _with_allowed(_paired(view, positions, _sharing_of(view, positions)), allowed)
        return [Slot(group.suffix, group.resources, offers)]
    outside = _outside(group, view)
    # Traits may come from any of several providers, but of one it has to have them all.
    alone = group.required if len(group.resources) == 1 else ()
    slots = []
    for name, amount in sorted(group.resources, key=lambda one: view.class_ids[one[0]]):
        offers = _with_allowed(_within_reach(group, view, inside, room[name]), allowed)
        if inside is not None:
            offers = offers.only(inside[offers.positions] | inside[offers.anchors])
        if outside is not None:
            offers = offers.only(~(outside[offers.positions] | outside[offers.anchors]))
        if group.forbidden:
            offers = offers.only(~with_any_trait(view, group.forbidden)[offers.positions])
        for any_of in alone:
            offers = offers.only(with_any_trait(view, any_of)[offers.positions])
        slots.append(Slot(group.suffix, ((name, amount),), offers))
    return slots


def _matching_alone(
    group: RequestGroup, view: View, inside: Mask | None, room: list[Positions]
) -> Positions:
    """The providers that satisfy the whole group, each alone."""
    if not group.resources and not group.required and not group.member_of:
        # PARITY: a group without resources needs something that it requires, else it finds nobody.
        raise NothingFits
    masks = [view.mask_of([positions]) for positions in room[1:]]
    masks += [with_any_trait(view, any_of) for any_of in group.required]
    if inside is not None:
        masks.append(inside)
    outside = _outside(group, view)
    if outside is not None:
        masks.append(~outside)
    if group.forbidden:
        masks.append(~with_any_trait(view, group.forbidden))
    if not room:
        return np.flatnonzero(np.logical_and.reduce(masks))
    positions = room[0]
    for mask in masks:
        positions = positions[mask[positions]]
    return positions


def _within_reach(group: RequestGroup, view: View, inside: Mask | None, room: Positions) -> Offers:
    """Who could give one class to the trees, for a group that many may satisfy together."""
    if group.in_tree is not None or not len(view.sharing):
        return _paired(view, room, NO_PROVIDERS)
    sharing = _sharing_of(view, room)
    if inside is not None:
        # The aggregates of a root are those of its whole tree, but not of those that share with it.
        sharing = sharing[inside[sharing]]
    return _paired(view, room, sharing)


def _sharing_of(view: View, positions: Positions) -> Positions:
    """Which of these share with other trees."""
    if not len(view.sharing):
        return NO_PROVIDERS
    return positions[view.mask_of([view.sharing])[positions]]


def _paired(view: View, positions: Positions, sharing: Positions) -> Offers:
    """Each provider with its own root, and those that share with every root they share with."""
    reached = [view.shared_with[position] for position in sharing.tolist()]
    shared = np.repeat(sharing, [len(roots) for roots in reached])
    anchors = np.concatenate([NO_PROVIDERS, *reached])
    others = anchors != view.forest.roots[shared]
    all_anchors = np.concatenate([view.forest.roots[positions], anchors[others]])
    all_offered = np.concatenate([positions, shared[others]])
    if bool(np.all(all_anchors[1:] >= all_anchors[:-1])):
        # PERF: nearly always, since trees lie one after the other.
        return Offers(all_anchors, all_offered)
    order = np.lexsort((all_offered, all_anchors))
    return Offers(all_anchors[order], all_offered[order])


def _with_allowed(offers: Offers, allowed: Mask | None) -> Offers:
    return offers if allowed is None else offers.only(allowed[offers.anchors])


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
        stocks = view.inventories.get(name)
        room = stocks.providers_with(amount) if stocks else NO_PROVIDERS
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
    masks = [view.mask_of(_members(view, any_of)) for any_of in member_of]
    inside: Mask = np.logical_and.reduce(masks)
    if not inside.any():
        raise NothingFits
    return inside


def _outside(group: RequestGroup, view: View) -> Mask | None:
    """True for members of an aggregate that is forbidden; None if there is none."""
    members = _members(view, group.forbidden_aggregates)
    return view.mask_of(members) if members else None


def _members(view: View, aggregates: Iterable[str]) -> list[Positions]:
    return [
        view.providers_by_aggregate[uuid]
        for uuid in aggregates
        if uuid in view.providers_by_aggregate
    ]


def _refuse_unknown_traits(names: Iterable[str], view: View) -> None:
    for name in names:
        if name not in view.trait_ids:
            raise TraitNotFound(name)
