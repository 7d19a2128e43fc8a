# SPDX-License-Identifier: Apache-2.0
"""The arrays: everything a search needs to know, by position of the provider.

A View is one frozen picture of the ledger. A search sees one View from its begin to its end.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trueup.placement.index.view.forest import Forest, Positions
from trueup.placement.index.view.fragments import Fragments
from trueup.placement.index.view.skipped import Skipped

Mask = NDArray[np.bool_]
"""One truth for each provider, by position."""

Integers = NDArray[np.int64]

NOBODY: Positions = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Stocks:
    """The inventories of one class: one entry for each provider that has one, by position."""

    class_id: int
    positions: Positions
    limits: NDArray[np.float64]
    """What usage may grow to, before rounding."""
    used: Integers
    min_units: Integers
    max_units: Integers
    step_sizes: Integers

    def with_room(self, amount: int) -> Positions:
        """The providers that could give this much to one consumer."""
        fits = self.used + amount <= self.limits
        fits &= self.min_units <= amount
        fits &= self.max_units >= amount
        # PERF: a division takes as long as everything else, and steps are rare.
        if bool((self.step_sizes != 1).any()):
            fits &= amount % self.step_sizes == 0
        return np.asarray(self.positions[fits])

    def rooms(self) -> Integers:
        """By entry: what one consumer may have of it now, be it in one part or in several."""
        free = self.limits.astype(np.int64) - self.used
        return np.asarray(np.minimum(free, self.max_units))


@dataclass(frozen=True, slots=True)
class View:
    """One picture of the ledger."""

    forest: Forest
    class_ids: Mapping[str, int]
    """Every resource class that exists."""
    stocks: Mapping[str, Stocks]
    """By resource class; without those that no provider has."""
    trait_ids: Mapping[str, int]
    """Every trait that exists."""
    having: Mapping[str, Positions]
    """By trait: who has it."""
    traits_of: Mapping[int, tuple[str, ...]]
    """By position, in the order of the traits' ids; without providers that have none."""
    members: Mapping[str, Positions]
    """By UUID of the aggregate: who is a member."""
    sharing: Positions
    """Who shares with other trees."""
    shared_with: Mapping[int, Positions]
    """By position of a sharing provider: the roots of all trees that may use it."""
    generations: Integers
    aggregate_ids: Mapping[str, int]
    """By UUID, of those that have a member."""
    skipped: frozenset[Skipped]
    """Rows that lead nowhere."""
    # SAFETY: another view, also one that was made by `replace`, begins without any.
    fragments: Fragments = field(init=False, compare=False, default_factory=Fragments)

    @property
    def is_flat(self) -> bool:
        """Whether each provider stands for itself: no trees, and nobody shares."""
        return not self.shared_with and not self.forest.has_trees

    def mask_of(self, positions: Iterable[Positions]) -> Mask:
        """True for every provider in any of these."""
        mask = np.zeros(len(self.forest), dtype=np.bool_)
        for some in positions:
            mask[some] = True
        return mask
