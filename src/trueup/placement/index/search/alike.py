# SPDX-License-Identifier: Apache-2.0
"""The candidates of an answer as columns, ordered by which slots share a provider."""

from collections.abc import Sequence

import numpy as np

from trueup.model.candidates import CandidateColumns
from trueup.placement.index.search.checks import Columns
from trueup.placement.index.view.columns import Integers, View

_SLOTS_PER_NUMBERING = 4
"""After so many slots, patterns are numbered again: an integer has 63 bits."""


def columns_of(found: Columns, view: View, first: int, last: int) -> CandidateColumns:
    """The candidates from index `first` to before `last`; at least one."""
    places = np.stack([column[first:last] for column in found])
    first_slots = _first_slots(places)
    numbers = _numbered(first_slots)
    order = np.argsort(numbers, kind="stable")
    _, starts, counts = np.unique(numbers[order], return_index=True, return_counts=True)
    patterns = np.stack(first_slots)[:, order[starts]].T.tolist()
    uuid_at = view.forest.uuids.__getitem__
    return CandidateColumns(
        indexes=order.tolist(),
        uuids=[list(map(uuid_at, column.tolist())) for column in places[:, order]],
        patterns=list(zip(map(tuple, patterns), counts.tolist(), strict=True)),
    )


def _first_slots(places: Integers) -> list[Integers]:
    """For each slot, by candidate: the first slot with the same provider."""
    return [(places[: slot + 1] == column).argmax(axis=0) for slot, column in enumerate(places)]


def _numbered(first_slots: Sequence[Integers]) -> Integers:
    """By candidate: the number of its pattern."""
    patterns = np.zeros_like(first_slots[0])
    for slot, first in enumerate(first_slots[1:], 1):
        patterns = patterns * (slot + 1) + first
        if slot % _SLOTS_PER_NUMBERING == 0:
            patterns = np.unique(patterns, return_inverse=True)[1]
    return patterns
