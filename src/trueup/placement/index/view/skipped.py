# SPDX-License-Identifier: Apache-2.0
"""Rows that the view leaves out because they refer to a row that does not exist.

`trueup-manage db fsck` finds the same rows and repairs them.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from trueup.placement.index.view.forest import NO_POSITION, Forest
from trueup.placement.store.reads.ledger_rows import LedgerRows


class SkippedRow(NamedTuple):
    """A row of a provider, and the reason why it is left out."""

    provider_id: int
    row: str
    reason: str

    @property
    def text(self) -> str:
        """A sentence with the ids by which the row is found."""
        return f"{self.row} of provider row {self.provider_id}: {self.reason}"


def skipped_rows(rows: LedgerRows, forest: Forest) -> frozenset[SkippedRow]:
    """All skipped rows; `forest` must have the providers of these rows."""
    return frozenset(
        (
            *_own_ancestors(rows, forest),
            *_broken_trees(rows, forest),
            *_without_provider(forest, _column(rows.inventories, 0), "an inventory"),
            *_without_provider(forest, _column(list(rows.trait_sets), None), "traits"),
            *_without_provider(forest, _column(rows.aggregate_pairs, 0), "an aggregate"),
            *_without_name(rows),
        )
    )


def _own_ancestors(rows: LedgerRows, forest: Forest) -> Iterator[SkippedRow]:
    read_ids = {row.id for row in rows.providers}
    for row in forest.left_out:
        if row.id in read_ids:
            yield SkippedRow(row.id, "all", f"provider {row.uuid} is its own ancestor")


def _broken_trees(rows: LedgerRows, forest: Forest) -> Iterator[SkippedRow]:
    """Providers that the view has, but each as a tree of its own."""
    ids = np.array([row.id for row in rows.providers], dtype=np.int64)
    positions = forest.positions_of(ids)
    positions = positions[positions != NO_POSITION]
    roots = forest.ids[forest.roots[positions]]
    wrong = roots != forest.root_ids[positions]
    parents = forest.parent_ids[positions]
    wrong |= (parents != NO_POSITION) & (forest.parents[positions] == NO_POSITION)
    for position in positions[wrong].tolist():
        reason = f"the root or the parent of provider {forest.uuids[position]} does not exist"
        yield SkippedRow(int(forest.ids[position]), "the tree", reason)


def _without_provider(forest: Forest, ids: Any, row: str) -> Iterator[SkippedRow]:
    ids = np.unique(ids)
    left_out = {provider.id for provider in forest.left_out}
    for provider_id in ids[forest.positions_of(ids) == NO_POSITION].tolist():
        if provider_id not in left_out:
            yield SkippedRow(provider_id, row, "there is no such provider, or it has no root")


def _without_name(rows: LedgerRows) -> Iterator[SkippedRow]:
    """Rows of a resource class, trait or aggregate that does not exist."""
    classes = set(rows.names.class_ids.values())
    unknown = set(np.unique(_column(rows.inventories, 1)).tolist()) - classes
    for inventory in rows.inventories if unknown else ():
        if inventory.class_id in unknown:
            reason = f"there is no resource class {inventory.class_id}"
            yield SkippedRow(inventory.provider_id, "an inventory", reason)
    traits = set(rows.names.trait_ids.values())
    has_unknown = not all(map(traits.issuperset, set(rows.trait_sets.values())))
    for provider_id, trait_set in rows.trait_sets.items() if has_unknown else ():
        for key in set(trait_set) - traits:
            yield SkippedRow(provider_id, "a trait", f"there is no trait {key}")
    for provider_id, key in rows.aggregate_pairs:
        if key not in rows.aggregate_uuids:
            yield SkippedRow(provider_id, "an aggregate", f"there is no aggregate {key}")


def _column(rows: Any, index: int | None) -> Any:
    values = rows if index is None else [row[index] for row in rows]
    return np.array(values, dtype=np.int64)
