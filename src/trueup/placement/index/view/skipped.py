# SPDX-License-Identifier: Apache-2.0
"""Rows that lead nowhere, and so are in no view. `db fsck` finds them too, and mends them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from trueup.placement.index.view.forest import NOWHERE, Forest
from trueup.placement.store.picture import Picture


class Skipped(NamedTuple):
    """A row of a provider, and why it is left out."""

    provider_id: int
    row: str
    reason: str

    @property
    def text(self) -> str:
        """In words, with the ids that find the row."""
        return f"{self.row} of provider row {self.provider_id}: {self.reason}"


def skipped_in(picture: Picture, forest: Forest) -> frozenset[Skipped]:
    """All of them in a picture whose providers are in the forest, or were left out of it."""
    return frozenset(
        (
            *_circles(picture, forest),
            *_broken_trees(picture, forest),
            *_lost(forest, _column(picture.stocks, 0), "an inventory"),
            *_lost(forest, _column(list(picture.trait_sets), None), "traits"),
            *_lost(forest, _column(picture.aggregate_pairs, 0), "an aggregate"),
            *_nameless(picture),
        )
    )


def _circles(picture: Picture, forest: Forest) -> Iterator[Skipped]:
    seen = {row.id for row in picture.providers}
    for row in forest.left_out:
        if row.id in seen:
            yield Skipped(row.id, "all", f"provider {row.uuid} is its own ancestor")


def _broken_trees(picture: Picture, forest: Forest) -> Iterator[Skipped]:
    """Such providers are used, but each as a tree of its own."""
    ids = np.array([row.id for row in picture.providers], dtype=np.int64)
    positions = forest.positions_of(ids)
    positions = positions[positions != NOWHERE]
    roots = forest.ids[forest.roots[positions]]
    wrong = roots != forest.root_ids[positions]
    parents = forest.parent_ids[positions]
    wrong |= (parents != NOWHERE) & (forest.parents[positions] == NOWHERE)
    for position in positions[wrong].tolist():
        reason = f"the root or the parent of provider {forest.uuids[position]} does not exist"
        yield Skipped(int(forest.ids[position]), "the tree", reason)


def _lost(forest: Forest, ids: Any, row: str) -> Iterator[Skipped]:
    ids = np.unique(ids)
    left_out = {one.id for one in forest.left_out}
    for provider_id in ids[forest.positions_of(ids) == NOWHERE].tolist():
        if provider_id not in left_out:
            yield Skipped(provider_id, row, "there is no such provider, or it has no root")


def _nameless(picture: Picture) -> Iterator[Skipped]:
    classes = set(picture.names.class_ids.values())
    unknown = set(np.unique(_column(picture.stocks, 1)).tolist()) - classes
    for one in picture.stocks if unknown else ():
        if one[1] in unknown:
            reason = f"there is no resource class {one[1]}"
            yield Skipped(one[0], "an inventory", reason)
    traits = set(picture.names.trait_ids.values())
    odd = {kind for kind in set(picture.trait_sets.values()) if not traits.issuperset(kind)}
    for provider_id, kind in picture.trait_sets.items() if odd else ():
        for key in set(kind) - traits:
            yield Skipped(provider_id, "a trait", f"there is no trait {key}")
    for provider_id, key in picture.aggregate_pairs:
        if key not in picture.aggregate_uuids:
            yield Skipped(provider_id, "an aggregate", f"there is no aggregate {key}")


def _column(rows: Any, place: int | None) -> Any:
    values = rows if place is None else [row[place] for row in rows]
    return np.array(values, dtype=np.int64)
