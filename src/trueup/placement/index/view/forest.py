# SPDX-License-Identifier: Apache-2.0
"""Provider trees, laid out so that each subtree is a slice.

Each provider has a position. The trees follow one another, and within a tree a provider comes
before its descendants, so `[p, ends[p])` is the subtree of the provider at position `p`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trueup.placement.store.reads.ledger_rows import ProviderRow

Positions = NDArray[np.int64]

NO_PARENT = -1
NO_POSITION = -1


@dataclass(frozen=True)
class Forest:
    """All providers. Each array is by position."""

    uuids: tuple[str, ...]
    parents: Positions
    """NO_PARENT for a root."""
    roots: Positions
    ends: Positions
    """The end of each provider's subtree, exclusive."""
    by_uuid: Mapping[str, int]
    ids: Positions
    root_ids: Positions
    parent_ids: Positions
    """The parent in the row, which may be wrong; NO_PARENT where the row has none."""
    by_id: Positions
    """All positions, in the order of the ids."""
    left_out: tuple[ProviderRow, ...]
    """Providers that are their own ancestors, and therefore have no position."""

    def __len__(self) -> int:
        return len(self.uuids)

    @cached_property
    def has_trees(self) -> bool:
        """Whether any provider has a parent."""
        return bool((self.parents != NO_PARENT).any())

    def positions_of(self, ids: Positions) -> Positions:
        """The positions of the providers with these ids; NO_POSITION for an id that is unknown."""
        if not len(self):
            return np.full(len(ids), NO_POSITION, dtype=np.int64)
        entries = np.searchsorted(self.ids, ids, sorter=self.by_id)
        found = self.by_id[np.minimum(entries, len(self) - 1)]
        return np.where(self.ids[found] == ids, found, NO_POSITION)

    def rows(self) -> list[ProviderRow]:
        """The rows of all providers, without their generations."""
        columns = (self.ids.tolist(), self.uuids, self.root_ids.tolist(), self.parent_ids.tolist())
        rows = [
            ProviderRow(key, uuid, root_id, None if parent_id == NO_PARENT else parent_id)
            for key, uuid, root_id, parent_id in zip(*columns, strict=True)
        ]
        return [*rows, *self.left_out]

    def tree_of(self, position: int) -> slice:
        """All positions of the provider's tree."""
        root = int(self.roots[position])
        return slice(root, int(self.ends[root]))

    def is_one_subtree(self, positions: Sequence[int]) -> bool:
        """Whether one of these providers is the ancestor of all the others."""
        top = min(positions)
        return max(positions) < int(self.ends[top])


def lay_out(rows: Sequence[ProviderRow]) -> Forest:
    """Give every provider its position. A parent that does not exist counts as none."""
    ordered, depths = _in_order(sorted(rows))
    by_id = {row.id: position for position, row in enumerate(ordered)}
    ends = np.arange(1, len(ordered) + 1, dtype=np.int64)
    ancestors: list[int] = []
    for position, depth in enumerate(depths):
        for ended in ancestors[depth:]:
            ends[ended] = position
        del ancestors[depth:]
        ancestors.append(position)
    for ended in ancestors:
        ends[ended] = len(ordered)
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
    """The rows by position, and the depth of each below its root."""
    known = {row.id: row for row in rows}
    children: dict[int, list[ProviderRow]] = {}
    roots = []
    for row in rows:
        parent = known.get(row.parent_id) if row.parent_id is not None else None
        # A provider whose row names another root than its parent's row counts as a tree of its own.
        if parent is None or parent.root_id != row.root_id:
            roots.append(row)
        else:
            children.setdefault(parent.id, []).append(row)
    ordered: list[ProviderRow] = []
    depths: list[int] = []
    waiting = [(row, 0) for row in reversed(roots)]
    while waiting:
        row, depth = waiting.pop()
        ordered.append(row)
        depths.append(depth)
        waiting += [(child, depth + 1) for child in reversed(children.get(row.id, ()))]
    return ordered, depths


def _positions(values: Iterable[int]) -> Positions:
    return np.fromiter(values, dtype=np.int64)
