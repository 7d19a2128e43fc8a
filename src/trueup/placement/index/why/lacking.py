# SPDX-License-Identifier: Apache-2.0
"""What the hosts lack that a filter leaves out, those that come nearest first."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from trueup.placement.index.view.columns import InventoryColumns, View
from trueup.placement.index.view.forest import Positions
from trueup.placement.index.why.filters import (
    Filter,
    ForbiddenTraits,
    InTree,
    Isolate,
    MemberOf,
    NotMemberOf,
    RequiredTrait,
    Resource,
    RootForbidden,
    RootRequired,
    SameSubtree,
)

_ELSEWHERE = "but not together with the rest of the request"


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A host that a filter left out, and what it lacks."""

    root_uuid: str
    lacks: str


def nearest(one: Filter, lost: Positions, view: View, most: int) -> tuple[NearMiss, ...]:
    """A few of the hosts that a filter left out. `lost` are their roots."""
    if isinstance(one, Resource):
        return _nearest_by_amount(one, lost, view, most)
    return tuple(
        NearMiss(view.forest.uuids[root], lacking(one, root, view)) for root in lost[:most].tolist()
    )


def _nearest_by_amount(
    asked: Resource, lost: Positions, view: View, most: int
) -> tuple[NearMiss, ...]:
    """Those with the largest free amount at one provider."""
    inventory = view.inventories.get(asked.name)
    best = {} if inventory is None else _best_entries(inventory, lost, view)
    free = {} if inventory is None else {root: _unused(inventory, best[root]) for root in best}
    ranked = sorted(lost.tolist(), key=lambda root: (-free[root] if root in free else 1, root))
    return tuple(
        NearMiss(
            view.forest.uuids[root],
            _shortage(asked, inventory, best[root])
            if inventory is not None and root in best
            else f"no inventory of {asked.name}",
        )
        for root in ranked[:most]
    )


def _best_entries(inventory: InventoryColumns, lost: Positions, view: View) -> Mapping[int, int]:
    """By root: the entry of the provider with the most left, of its own or one that shares."""
    pairs = [
        (root, entry) for entry, root in enumerate(view.forest.roots[inventory.positions].tolist())
    ]
    entries = {position: entry for entry, position in enumerate(inventory.positions.tolist())}
    pairs += [
        (root, entries[position])
        for position, roots in view.shared_with.items()
        if position in entries
        for root in roots.tolist()
    ]
    wanted, best = set(lost.tolist()), dict[int, int]()
    for root, entry in pairs:
        if root not in wanted:
            continue
        if root not in best or _unused(inventory, entry) > _unused(inventory, best[root]):
            best[root] = entry
    return best


def _unused(inventory: InventoryColumns, entry: int) -> int:
    return int(inventory.capacity[entry]) - int(inventory.used[entry])


def _shortage(asked: Resource, inventory: InventoryColumns, entry: int) -> str:
    """Why the provider cannot give the amount."""
    free = max(_unused(inventory, entry), 0)
    least, step = int(inventory.min_units[entry]), int(inventory.step_sizes[entry])
    largest = int(inventory.max_units[entry])
    if free < asked.amount:
        return f"{asked.name}: {free} free of {int(inventory.capacity[entry])}"
    if largest < asked.amount:
        return f"{asked.name}: {free} free, max_unit {largest}"
    if least > asked.amount:
        return f"{asked.name}: {free} free, min_unit {least}"
    if asked.amount % step:
        return f"{asked.name}: {free} free, step_size {step}"
    return f"{asked.name}: {free} free, {_ELSEWHERE}"


@singledispatch
def lacking(one: object, _root: int, _view: View) -> str:
    """What a host lacks for a filter that is of no amount."""
    raise NotImplementedError(type(one).__name__)


@lacking.register
def _(one: RequiredTrait, root: int, view: View) -> str:
    words = " or ".join(sorted(one.any_of))
    if any(name in one.any_of for name in _traits(root, view)):
        return f"has {words}, {_ELSEWHERE}"
    return f"no {words}"


@lacking.register
def _(one: ForbiddenTraits, root: int, view: View) -> str:
    found = sorted(one.names.intersection(_traits(root, view)))
    return f"has {', '.join(found) or 'a forbidden trait in a tree that shares with it'}"


@lacking.register
def _(one: MemberOf, root: int, view: View) -> str:
    if _is_member(one.any_of, root, view):
        return f"is a member, {_ELSEWHERE}"
    return "in none of the aggregates"


@lacking.register
def _(_one: NotMemberOf, _root: int, _view: View) -> str:
    return "in a forbidden aggregate"


@lacking.register
def _(_one: InTree, _root: int, _view: View) -> str:
    return "another tree"


@lacking.register
def _(one: RootRequired, _root: int, _view: View) -> str:
    return f"its root has no {one.name}"


@lacking.register
def _(one: RootForbidden, root: int, view: View) -> str:
    found = one.names.intersection(view.traits_of.get(root, ()))
    return f"its root has {', '.join(sorted(found))}"


@lacking.register
def _(_one: Isolate, _root: int, _view: View) -> str:
    return "too few providers for groups of their own"


@lacking.register
def _(_one: SameSubtree, _root: int, _view: View) -> str:
    return "no subtree has room for all of these groups"


def _traits(root: int, view: View) -> set[str]:
    tree = range(root, int(view.forest.ends[root]))
    return {name for position in tree for name in view.traits_of.get(position, ())}


def _is_member(aggregates: Iterable[str], root: int, view: View) -> bool:
    end = int(view.forest.ends[root])
    members = [
        view.providers_by_aggregate[uuid]
        for uuid in aggregates
        if uuid in view.providers_by_aggregate
    ]
    return any(bool(np.any((one >= root) & (one < end))) for one in members)
