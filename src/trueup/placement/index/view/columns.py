# SPDX-License-Identifier: Apache-2.0
"""The columns of a view: everything that a search reads, as arrays by position of the provider.

A `View` is one immutable snapshot of the ledger. A search works on one view from start to end.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.placement.index.view.forest import Forest, Positions
from trueup.placement.index.view.skipped import SkippedRow

Mask = NDArray[np.bool_]
"""One boolean for each provider, by position."""

Integers = NDArray[np.int64]

_CAPACITY_MAX = 2.0**62
_PIECE_ROWS = 2000

NO_PROVIDERS: Positions = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class InventoryColumns:
    """The inventories of one resource class: one entry for each provider that has one.

    Entries are sorted by position.
    """

    class_id: int
    positions: Positions
    capacity: NDArray[np.float64]
    """(total - reserved) * allocation_ratio, not rounded."""
    used: Integers
    min_units: Integers
    max_units: Integers
    step_sizes: Integers
    marks: Integers
    """The marks of `store.reads.fingerprint`, for the search for foreign writes."""

    def providers_with(self, amount: int) -> Positions:
        """The providers with room for this amount in one request group."""
        fits = self.used + amount <= self.capacity
        fits &= self.min_units <= amount
        fits &= self.max_units >= amount
        # PERF: a division takes as long as everything else here, and step sizes are rare.
        if bool((self.step_sizes != 1).any()):
            fits &= amount % self.step_sizes == 0
        return np.asarray(self.positions[fits])

    def free(self) -> Integers:
        """By entry: the amount that all groups of one request together can get."""
        # With a large ratio, the capacity may exceed an integer of 64 bits.
        whole = np.clip(self.capacity, -_CAPACITY_MAX, _CAPACITY_MAX).astype(np.int64)
        unused = whole - self.used
        return np.asarray(np.minimum(unused, self.max_units))


@dataclass(frozen=True, slots=True)
class View:
    """One snapshot of the ledger."""

    forest: Forest
    class_ids: Mapping[str, int]
    """Every resource class that exists."""
    inventories: Mapping[str, InventoryColumns]
    """By resource class, without classes that no provider has an inventory of."""
    trait_ids: Mapping[str, int]
    """Every trait that exists."""
    providers_by_trait: Mapping[str, Positions]
    traits_of: Mapping[int, tuple[str, ...]]
    """By position, ordered by id of the trait. Providers without traits are absent."""
    providers_by_aggregate: Mapping[str, Positions]
    """By UUID of the aggregate."""
    sharing: Positions
    """The providers that share their inventories with other trees."""
    shared_with: Mapping[int, Positions]
    """By position of a sharing provider: the roots of all trees that may use it."""
    generations: Integers
    aggregate_ids: Mapping[str, int]
    """By UUID. Aggregates without a member are absent."""
    revisions: Integers
    """By position: a number that identifies the content of the provider's summary.

    SAFETY: texts of summaries are cached by these numbers. A view in which the content differs
    (uuid, root, parent, traits, inventories, usage) must have a new number for the provider.
    """
    skipped: frozenset[SkippedRow]

    @property
    def is_flat(self) -> bool:
        """Whether there are neither trees nor sharing providers."""
        return not self.shared_with and not self.forest.has_trees

    def mask_of(self, positions: Iterable[Positions]) -> Mask:
        """True for every provider that is in any of these arrays."""
        mask = np.zeros(len(self.forest), dtype=np.bool_)
        for group in positions:
            mask[group] = True
        return mask


def integers(values: Iterable[int]) -> Integers:
    """An array of these numbers."""
    return np.fromiter(values, dtype=np.int64)


def to_array(rows: Sequence[Any], width: int) -> Integers:
    """An array of rows with `width` numbers each.

    PERF: in pieces, because no other thread has a turn while NumPy reads one.
    """
    pieces = [
        integers(itertools.chain.from_iterable(rows[first : first + _PIECE_ROWS]))
        for first in range(0, len(rows), _PIECE_ROWS)
    ]
    return np.concatenate([NO_PROVIDERS, *pieces]).reshape(-1, width)
