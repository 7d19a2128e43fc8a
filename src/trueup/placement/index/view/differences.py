# SPDX-License-Identifier: Apache-2.0
"""The differences of two views of the same snapshot, in words that an operator knows."""

from collections.abc import Iterator
from typing import NamedTuple

from trueup.placement.index.view.columns import View
from trueup.placement.index.view.forest import NO_PARENT


class Difference(NamedTuple):
    """One fact in which the two views differ; NOTHING where a view lacks it."""

    what: str
    """The kind of fact."""
    subject: str
    followed: str
    loaded: str


NOTHING = "nothing"


def differences(followed: View, loaded: View) -> list[Difference]:
    """All differences, sorted; none if the two views answer every request alike."""
    ours, theirs = dict(_facts(followed)), dict(_facts(loaded))
    return sorted(
        Difference(*key, ours.get(key, NOTHING), theirs.get(key, NOTHING))
        for key in ours.keys() | theirs.keys()
        if ours.get(key) != theirs.get(key)
    )


def _facts(view: View) -> Iterator[tuple[tuple[str, str], str]]:
    uuids = view.forest.uuids
    yield from _of_providers(view)
    for name, inventory in view.inventories.items():
        columns = (
            inventory.positions,
            inventory.capacity,
            inventory.used,
            inventory.min_units,
            inventory.max_units,
            inventory.step_sizes,
        )
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for position, capacity, used, least, most, step in rows:
            units = f"units {least} to {most} by {step}"
            yield ("inventory", f"{uuids[position]} {name}"), f"{used} of {capacity:g}, {units}"
    for position, names in view.traits_of.items():
        yield ("traits", uuids[position]), " ".join(names)
    groups = (("trait of", view.providers_by_trait), ("aggregate of", view.providers_by_aggregate))
    for what, providers_by_name in groups:
        for name, positions in providers_by_name.items():
            yield (what, name), " ".join(uuids[position] for position in positions.tolist())
    for position in view.sharing.tolist():
        roots = view.shared_with[position].tolist()
        yield ("shares with", uuids[position]), " ".join(uuids[root] for root in roots)
    for what, ids in (
        ("resource class", view.class_ids),
        ("trait", view.trait_ids),
        ("aggregate", view.aggregate_ids),
    ):
        for name, key in ids.items():
            yield (what, name), f"id {key}"
    for row in view.skipped:
        yield ("left out", row.text), "yes"


def _of_providers(view: View) -> Iterator[tuple[tuple[str, str], str]]:
    forest = view.forest
    for position, uuid in enumerate(forest.uuids):
        parent, root = int(forest.parents[position]), int(forest.roots[position])
        below = "no parent" if parent == NO_PARENT else f"parent {forest.uuids[parent]}"
        tree = f"position {position} to {forest.ends[position]}, root {forest.uuids[root]}, {below}"
        yield ("provider", uuid), f"generation {view.generations[position]}, {tree}"
