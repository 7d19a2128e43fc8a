# SPDX-License-Identifier: Apache-2.0
"""The answer of GET /allocation_candidates.

It may have 100,000 candidates, so it is columns instead of an object for each.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

RequestSlot = tuple[str, tuple[tuple[str, int], ...]]
"""One provider's part in each candidate: the suffix of a group, and amounts by class."""


@dataclass(frozen=True, slots=True)
class InventoryUsage:
    """Capacity and usage of one resource class, an entry for each provider."""

    name: str
    capacities: Sequence[int]
    used: Sequence[int]


@dataclass(frozen=True, slots=True)
class SummaryColumns:
    """Summaries of providers that have inventories of the same resource classes."""

    indexes: Sequence[int]
    """The indexes of these summaries in the answer."""
    uuids: Sequence[str]
    root_uuids: Sequence[str]
    parent_uuids: Sequence[str | None]
    traits: Sequence[tuple[str, ...]]
    inventories: tuple[InventoryUsage, ...]


@dataclass(frozen=True, slots=True)
class ProviderSummaries:
    """The providers that an answer describes.

    PERF: two thirds of the summaries of a large answer are unchanged since the answer before it, so
    only the columns of the requested ones are read.
    """

    revisions: Sequence[int]
    """By index of the summary: a number that identifies its content within this process."""
    columns: Callable[[Sequence[int]], Iterable[SummaryColumns]]
    """Reads the summaries with these indexes, in any order."""


class Limit(StrEnum):
    """What can bound the number of candidates."""

    REQUESTED = "requested"
    CONFIGURED = "configured"
    ANSWER_SIZE = "answer_size"


@dataclass(frozen=True, slots=True)
class CandidateColumns:
    """Some candidates of an answer. Those in which the same slots share a provider are neighbours.

    Such a way to share is a pattern: for each slot, the first slot that has the same provider.
    """

    indexes: Sequence[int]
    """Their indexes among these candidates in the order of the answer."""
    uuids: Sequence[Sequence[str]]
    """For each slot: the provider of each candidate."""
    patterns: Sequence[tuple[tuple[int, ...], int]]
    """Each pattern and its number of candidates, in their order."""


_NO_COLUMNS = CandidateColumns((), (), ())


@dataclass(frozen=True, slots=True)
class Candidates:
    """All candidates that were found, and the providers of the trees that they use."""

    summaries: ProviderSummaries
    request_slots: tuple[RequestSlot, ...] = ()
    count: int = 0
    columns: Callable[[int, int], CandidateColumns] = lambda first, last: _NO_COLUMNS
    """Makes the columns of the candidates from one index to before another."""
    limited_by: Limit | None = None
    """The limit that the number of candidates reached; perhaps there are more."""
