# SPDX-License-Identifier: Apache-2.0
"""From choices to the answer: candidates, and the providers of the trees they use."""

from collections.abc import Iterable, Sequence

import numpy as np

from trueup.model.allocations import Place
from trueup.model.candidates import Candidate, ProviderSummary
from trueup.placement.index.columns import View
from trueup.placement.index.combine import Choice
from trueup.placement.index.forest import NO_PARENT
from trueup.placement.index.match import Slot


def candidate_of(choice: Choice, slots: Sequence[Slot], view: View) -> Candidate:
    """A choice in the words of the API."""
    uuids = view.forest.uuids
    amounts: dict[Place, int] = {}
    mappings: dict[str, list[str]] = {}
    for slot, position in zip(slots, choice, strict=True):
        uuid = uuids[position]
        satisfying = mappings.setdefault(slot.suffix, [])
        if uuid not in satisfying:
            satisfying.append(uuid)
        for name, amount in slot.resources:
            amounts[uuid, name] = amounts.get((uuid, name), 0) + amount
    return Candidate(amounts, {suffix: tuple(found) for suffix, found in mappings.items()})


def giving(choice: Choice, slots: Sequence[Slot]) -> set[int]:
    """The providers of a choice that give something, and do not only have to be there."""
    return {position for slot, position in zip(slots, choice, strict=True) if slot.resources}


def summarize(shown: Iterable[int], view: View) -> tuple[ProviderSummary, ...]:
    """These providers, with their inventories and traits."""
    positions = np.array(sorted(shown), dtype=np.int64)
    resources = _resources(positions, view)
    forest = view.forest
    return tuple(
        ProviderSummary(
            uuid=forest.uuids[position],
            root_uuid=forest.uuids[forest.roots[position]],
            parent_uuid=_parent_uuid(position, view),
            traits=view.traits_of.get(position, ()),
            resources=resources[position],
        )
        for position in positions.tolist()
    )


def of_trees(positions: Iterable[int], view: View) -> set[int]:
    """All providers of the trees that these are in."""
    roots = {int(view.forest.roots[position]) for position in positions}
    return {position for root in roots for position in range(root, int(view.forest.ends[root]))}


def _resources(positions: np.ndarray, view: View) -> dict[int, dict[str, tuple[int, int]]]:
    """By position and class: capacity, and what is used of it."""
    found: dict[int, dict[str, tuple[int, int]]] = {one: {} for one in positions.tolist()}
    for name, stocks in view.stocks.items():
        _, entries, _ = np.intersect1d(
            stocks.positions, positions, assume_unique=True, return_indices=True
        )
        for entry in entries.tolist():
            capacity = int(stocks.limits[entry])
            found[int(stocks.positions[entry])][name] = (capacity, int(stocks.used[entry]))
    return found


def _parent_uuid(position: int, view: View) -> str | None:
    parent = int(view.forest.parents[position])
    return None if parent == NO_PARENT else view.forest.uuids[parent]
