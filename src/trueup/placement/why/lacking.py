# SPDX-License-Identifier: Apache-2.0
"""What hosts lack that a filter leaves out, the nearest hosts first."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from trueup.placement.index.filters import (
    AmountlessFilter,
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
from trueup.placement.index.view.columns import InventoryColumns, View
from trueup.placement.index.view.forest import Positions

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
    """The hosts with the largest free amount at one provider."""
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


def lacking(one: AmountlessFilter, root: int, view: View) -> str:
    """What a host lacks for a filter that is of no amount."""
    match one:
        case RequiredTrait():
            words = " or ".join(sorted(one.any_of))
            has = any(name in one.any_of for name in _traits(root, view))
            return f"has {words}, {_ELSEWHERE}" if has else f"no {words}"
        case ForbiddenTraits():
            found = sorted(one.names.intersection(_traits(root, view)))
            return f"has {', '.join(found) or 'a forbidden trait in a tree that shares with it'}"
        case MemberOf():
            is_member = _is_member(one.any_of, root, view)
            return f"is a member, {_ELSEWHERE}" if is_member else "in none of the aggregates"
        case NotMemberOf():
            return "in a forbidden aggregate"
        case InTree():
            return "another tree"
        case RootRequired():
            return f"its root has no {one.name}"
        case RootForbidden():
            of_root = one.names.intersection(view.traits_of.get(root, ()))
            return f"its root has {', '.join(sorted(of_root))}"
        case Isolate():
            return "too few providers for groups of their own"
        case SameSubtree():
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
    return any(bool(np.any((member >= root) & (member < end))) for member in members)
