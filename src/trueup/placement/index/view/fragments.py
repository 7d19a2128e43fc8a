# SPDX-License-Identifier: Apache-2.0
"""Texts about providers, for as long as nothing changes about them.

PERF: of a large answer, two thirds are made of what was the same in the answer before. A claim
changes one host of all that are offered.
"""

from collections.abc import Mapping

from trueup.placement.index.view.forest import Positions

FRAGMENTS_BYTES_MAX = 16 << 20
"""How much is kept: the summaries of ten thousand hosts with forty traits each."""


class Fragments:
    """What was told of the providers of one view, by position. Several threads may use it."""

    def __init__(self) -> None:
        self.known: dict[int, bytes] = {}
        self._size_bytes = 0

    def add(self, told: Mapping[int, bytes]) -> None:
        """Keep these; or nothing at all, when they are too many."""
        self.known.update(told)
        self._size_bytes += sum(map(len, told.values()))
        if self._size_bytes > FRAGMENTS_BYTES_MAX:
            # Whoever is reading from the old ones may go on with them.
            self.known, self._size_bytes = {}, 0

    def take_over(self, old: "Fragments", changed: Positions) -> None:
        """What was told of an older view, but of these providers; all have the same positions."""
        self.known, self._size_bytes = dict(old.known), old._size_bytes
        for position in changed.tolist():
            self._size_bytes -= len(self.known.pop(position, b""))
