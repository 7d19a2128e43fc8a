# SPDX-License-Identifier: Apache-2.0
"""Finds the providers that satisfy each request group, and the trees that can use them.

The result is a list of slots. A slot is a part of the request that one provider must satisfy: a
whole group with a suffix, or one resource class of the group without. The offers of a slot are
pairs of an anchor (the root of the tree that a candidate is for) and a provider that is in that
tree or shares with it.
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
    """Pairs of an anchor and a provider, sorted by anchor.

    Slots with the same content have the same object.
    """

    anchors: Positions
    positions: Positions

    def __len__(self) -> int:
        return len(self.positions)

    def only(self, kept: Mask) -> "Offers":
        """The pairs for which `kept` is true."""
        return self if kept.all() else Offers(self.anchors[kept], self.positions[kept])


@dataclass(frozen=True, slots=True)
class Slot:
    """The part of a request that one provider must satisfy, and its offers."""

    suffix: str
    resources: tuple[tuple[str, int], ...]
    offers: Offers


class NoCandidates(Exception):
    """No provider satisfies some part of the request, or no tree satisfies all of it."""


def match_request(request: CandidateRequest, view: View) -> list[Slot]:
    """The slots of all groups.

    Raises NoCandidates, and ResourceClassNotFound or TraitNotFound for names that do not exist.
    PARITY: names are not checked in the groups after one that no provider satisfies.
    """
    allowed_roots = _allowed_roots(request, view)
    slots: list[Slot] = []
    # PERF: requests for devices have many groups that differ only in their suffix.
    by_content: dict[tuple[bool, RequestGroup], list[Slot]] = {}
    for group in request.groups:
        content = (group.one_provider, replace(group, suffix=""))
        if content not in by_content:
            by_content[content] = _match_group(group, view, allowed_roots)
        found = [replace(slot, suffix=group.suffix) for slot in by_content[content]]
        if not all(len(slot.offers) for slot in found):
            raise NoCandidates
        slots += found
    return slots


def with_any_trait(view: View, names: Iterable[str]) -> Mask:
    """True for the providers that have at least one of these traits."""
    by_trait = view.providers_by_trait
    return view.mask_of(by_trait[name] for name in names if name in by_trait)


def _allowed_roots(request: CandidateRequest, view: View) -> Mask | None:
    """True for the roots that satisfy `root_required`; None if all do."""
    if not request.root_required and not request.root_forbidden:
        return None
    _refuse_unknown_traits([*request.root_required, *request.root_forbidden], view)
    allowed = view.forest.parents == NO_PARENT
    for name in request.root_required:
        allowed &= with_any_trait(view, [name])
    if request.root_forbidden:
        allowed &= ~with_any_trait(view, request.root_forbidden)
    if not allowed.any():
        raise NoCandidates
    return np.asarray(allowed)


def _match_group(group: RequestGroup, view: View, allowed_roots: Mask | None) -> list[Slot]:
    for name, _ in group.resources:
        if name not in view.class_ids:
            raise ResourceClassNotFound(name)
    members = _members_of_required(view, group.member_of)
    _refuse_unknown_traits([name for any_of in group.required for name in sorted(any_of)], view)
    _refuse_unknown_traits(sorted(group.forbidden), view)
    by_class = _with_free_inventory(group, view)
    if group.one_provider or view.is_flat:
        positions = _satisfying_alone(group, view, members, list(by_class.values()))
        offers = _anchored(view, positions, _sharing_among(view, positions))
        return [Slot(group.suffix, group.resources, _in_allowed(offers, allowed_roots))]
    forbidden_members = _members_of_forbidden(group, view)
    # Traits may come from several providers. If there is only one, it must have them all.
    of_one_provider = group.required if len(group.resources) == 1 else ()
    slots = []
    for name, amount in sorted(group.resources, key=lambda entry: view.class_ids[entry[0]]):
        offers = _offers_of_class(group, view, members, by_class[name])
        offers = _in_allowed(offers, allowed_roots)
        if members is not None:
            offers = offers.only(members[offers.positions] | members[offers.anchors])
        if forbidden_members is not None:
            is_forbidden = forbidden_members[offers.positions] | forbidden_members[offers.anchors]
            offers = offers.only(~is_forbidden)
        if group.forbidden:
            offers = offers.only(~with_any_trait(view, group.forbidden)[offers.positions])
        for any_of in of_one_provider:
            offers = offers.only(with_any_trait(view, any_of)[offers.positions])
        slots.append(Slot(group.suffix, ((name, amount),), offers))
    return slots


def _satisfying_alone(
    group: RequestGroup, view: View, members: Mask | None, by_class: list[Positions]
) -> Positions:
    """The providers that each satisfy the whole group."""
    if not group.resources and not group.required and not group.member_of:
        # PARITY: a group that has neither resources nor requirements is satisfied by no provider.
        raise NoCandidates
    masks = [view.mask_of([positions]) for positions in by_class[1:]]
    masks += [with_any_trait(view, any_of) for any_of in group.required]
    if members is not None:
        masks.append(members)
    forbidden_members = _members_of_forbidden(group, view)
    if forbidden_members is not None:
        masks.append(~forbidden_members)
    if group.forbidden:
        masks.append(~with_any_trait(view, group.forbidden))
    if not by_class:
        return np.flatnonzero(np.logical_and.reduce(masks))
    positions = by_class[0]
    for mask in masks:
        positions = positions[mask[positions]]
    return positions


def _offers_of_class(
    group: RequestGroup, view: View, members: Mask | None, positions: Positions
) -> Offers:
    """Offers of one class, for a group that several providers may satisfy together."""
    if group.in_tree is not None or not len(view.sharing):
        return _anchored(view, positions, NO_PROVIDERS)
    sharing = _sharing_among(view, positions)
    if members is not None:
        # A root's aggregates count for its whole tree, but not for providers that share with it.
        sharing = sharing[members[sharing]]
    return _anchored(view, positions, sharing)


def _sharing_among(view: View, positions: Positions) -> Positions:
    """The sharing providers among these."""
    if not len(view.sharing):
        return NO_PROVIDERS
    return positions[view.mask_of([view.sharing])[positions]]


def _anchored(view: View, positions: Positions, sharing: Positions) -> Offers:
    """Each provider with its own root, and `sharing` also with each root that may use it."""
    roots_shared_with = [view.shared_with[position] for position in sharing.tolist()]
    shared = np.repeat(sharing, [len(roots) for roots in roots_shared_with])
    anchors = np.concatenate([NO_PROVIDERS, *roots_shared_with])
    is_other_tree = anchors != view.forest.roots[shared]
    all_anchors = np.concatenate([view.forest.roots[positions], anchors[is_other_tree]])
    all_positions = np.concatenate([positions, shared[is_other_tree]])
    if bool(np.all(all_anchors[1:] >= all_anchors[:-1])):
        # PERF: nearly always true, because the trees follow one another.
        return Offers(all_anchors, all_positions)
    order = np.lexsort((all_positions, all_anchors))
    return Offers(all_anchors[order], all_positions[order])


def _in_allowed(offers: Offers, allowed_roots: Mask | None) -> Offers:
    return offers if allowed_roots is None else offers.only(allowed_roots[offers.anchors])


def _with_free_inventory(group: RequestGroup, view: View) -> dict[str, Positions]:
    """By class: the providers in the requested tree with room for the amount."""
    tree = None
    if group.in_tree is not None:
        # PARITY: in_tree does not restrict a group without resources.
        position = view.forest.by_uuid.get(group.in_tree)
        if position is None:
            raise NoCandidates
        tree = view.forest.tree_of(position)
    by_class = {}
    for name, amount in group.resources:
        inventory = view.inventories.get(name)
        positions = inventory.providers_with(amount) if inventory else NO_PROVIDERS
        if tree is not None:
            positions = positions[(positions >= tree.start) & (positions < tree.stop)]
        if len(positions) == 0:
            raise NoCandidates
        by_class[name] = positions
    return by_class


def _members_of_required(view: View, member_of: tuple[AnyOf, ...]) -> Mask | None:
    """True for members of one of the alternatives in each `member_of`; None if there is none."""
    if not member_of:
        return None
    masks = [view.mask_of(_members(view, any_of)) for any_of in member_of]
    members: Mask = np.logical_and.reduce(masks)
    if not members.any():
        raise NoCandidates
    return members


def _members_of_forbidden(group: RequestGroup, view: View) -> Mask | None:
    """True for members of a forbidden aggregate; None if there is none."""
    members = _members(view, group.forbidden_aggregates)
    return view.mask_of(members) if members else None


def _members(view: View, aggregates: Iterable[str]) -> list[Positions]:
    by_aggregate = view.providers_by_aggregate
    return [by_aggregate[uuid] for uuid in aggregates if uuid in by_aggregate]


def _refuse_unknown_traits(names: Iterable[str], view: View) -> None:
    for name in names:
        if name not in view.trait_ids:
            raise TraitNotFound(name)
