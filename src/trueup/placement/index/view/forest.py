# SPDX-License-Identifier: Apache-2.0
"""Provider trees laid out so that a subtree is a slice.

Providers have positions: tree after tree, and within a tree each provider before those below it.
So `[p, ends[p])` are the provider at `p` and all below it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trueup.placement.store.picture import ProviderRow

Positions = NDArray[np.int64]

NO_PARENT = -1
NOWHERE = -1


@dataclass(frozen=True)
class Forest:
    """All providers, by position."""

    uuids: tuple[str, ...]
    parents: Positions
    roots: Positions
    ends: Positions
    by_uuid: Mapping[str, int]
    ids: Positions
    root_ids: Positions
    parent_ids: Positions
    """As the rows say, which are not always right; NO_PARENT where there is none."""
    by_id: Positions
    """All positions, in the order of the ids."""
    left_out: tuple[ProviderRow, ...]
    """Providers that are their own ancestors, and so have no position."""

    def __len__(self) -> int:
        return len(self.uuids)

    @cached_property
    def has_trees(self) -> bool:
        """Whether any provider is below another."""
        return bool((self.parents != NO_PARENT).any())

    def positions_of(self, ids: Positions) -> Positions:
        """Where the providers with these ids are; NOWHERE if there is none."""
        if not len(self):
            return np.full(len(ids), NOWHERE, dtype=np.int64)
        places = np.searchsorted(self.ids, ids, sorter=self.by_id)
        found = self.by_id[np.minimum(places, len(self) - 1)]
        return np.where(self.ids[found] == ids, found, NOWHERE)

    def rows(self) -> list[ProviderRow]:
        """What it was made of, but for generations."""
        columns = (self.ids.tolist(), self.uuids, self.root_ids.tolist(), self.parent_ids.tolist())
        rows = [
            ProviderRow(key, uuid, root_id, None if parent_id == NO_PARENT else parent_id)
            for key, uuid, root_id, parent_id in zip(*columns, strict=True)
        ]
        return [*rows, *self.left_out]

    def tree_of(self, position: int) -> slice:
        """All positions of the tree that this provider is in."""
        root = int(self.roots[position])
        return slice(root, int(self.ends[root]))

    def is_one_subtree(self, positions: Sequence[int]) -> bool:
        """Whether one of these providers is above all the others."""
        top = min(positions)
        return max(positions) < int(self.ends[top])


def lay_out(rows: Sequence[ProviderRow]) -> Forest:
    """Give every provider its position. A parent that does not exist counts as none."""
    ordered, depths = _in_order(sorted(rows))
    by_id = {row.id: position for position, row in enumerate(ordered)}
    ends = np.arange(1, len(ordered) + 1, dtype=np.int64)
    open_above: list[int] = []
    for position, depth in enumerate(depths):
        for closed in open_above[depth:]:
            ends[closed] = position
        del open_above[depth:]
        open_above.append(position)
    for closed in open_above:
        ends[closed] = len(ordered)
    ids = _positions(row.id for row in ordered)
    return Forest(
        uuids=tuple(row.uuid for row in ordered),
        parents=_positions(
            by_id.get(row.parent_id, NO_PARENT) if row.parent_id else NO_PARENT for row in ordered
        ),
        roots=_positions(by_id.get(row.root_id, by_id[row.id]) for row in ordered),
        ends=ends,
        by_uuid={row.uuid: position for position, row in enumerate(ordered)},
        ids=ids,
        root_ids=_positions(row.root_id for row in ordered),
        parent_ids=_positions(row.parent_id or NO_PARENT for row in ordered),
        by_id=np.argsort(ids),
        left_out=tuple(row for row in rows if row.id not in by_id),
    )


def _in_order(rows: Sequence[ProviderRow]) -> tuple[list[ProviderRow], list[int]]:
    """The rows, parents first and trees together, and how deep each is below its root."""
    known = {row.id: row for row in rows}
    children: dict[int, list[ProviderRow]] = {}
    tops = []
    for row in rows:
        parent = known.get(row.parent_id) if row.parent_id is not None else None
        # A provider that claims another root than its parent is a tree of its own to us.
        if parent is None or parent.root_id != row.root_id:
            tops.append(row)
        else:
            children.setdefault(parent.id, []).append(row)
    ordered: list[ProviderRow] = []
    depths: list[int] = []
    waiting = [(row, 0) for row in reversed(tops)]
    while waiting:
        row, depth = waiting.pop()
        ordered.append(row)
        depths.append(depth)
        waiting += [(child, depth + 1) for child in reversed(children.get(row.id, ()))]
    return ordered, depths


def _positions(values: Iterable[int]) -> Positions:
    return np.fromiter(values, dtype=np.int64)
