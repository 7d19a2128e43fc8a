# SPDX-License-Identifier: Apache-2.0
"""The candidates of an answer: those in which the same slots have the same provider together."""

from collections.abc import Iterator, Sequence

import numpy as np

from trueup.model.candidates import CandidateColumns
from trueup.placement.index.search.checks import Columns
from trueup.placement.index.view.columns import Integers, View
from trueup.placement.index.view.forest import Positions

_SLOTS_PER_NUMBERING = 4
"""After so many slots, patterns are numbered again: an integer has 63 bits."""


def columns_of(found: Columns, view: View, first: int, last: int) -> Iterator[CandidateColumns]:
    """The candidates from one index to before another."""
    columns, uuid_at = [column[first:last] for column in found], view.forest.uuids.__getitem__
    first_slots = _first_slots(columns)
    patterns = _numbered(first_slots)
    numbers, examples = np.unique(patterns, return_index=True)
    for number, example in zip(numbers, examples, strict=True):
        alike = np.flatnonzero(patterns == number)
        yield CandidateColumns(
            indexes=alike.tolist(),
            first_slots=tuple(int(slots[example]) for slots in first_slots),
            uuids=[list(map(uuid_at, column[alike].tolist())) for column in columns],
        )


def _first_slots(columns: Sequence[Positions]) -> list[Integers]:
    """For each slot, by candidate: the first slot that has the same provider."""
    found = []
    for slot, column in enumerate(columns):
        first = np.full(len(column), slot)
        for earlier in reversed(range(slot)):
            first[columns[earlier] == column] = earlier
        found.append(first)
    return found


def _numbered(first_slots: Sequence[Integers]) -> Integers:
    """By candidate: a number that those in which the same slots are alike have in common."""
    patterns = np.zeros_like(first_slots[0])
    for slot, first in enumerate(first_slots[1:], 1):
        patterns = patterns * (slot + 1) + first
        if slot % _SLOTS_PER_NUMBERING == 0:
            patterns = np.unique(patterns, return_inverse=True)[1]
    return patterns
