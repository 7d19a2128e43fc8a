# SPDX-License-Identifier: Apache-2.0
"""The answer of GET /allocation_candidates.

It may have 100,000 candidates, so it is kept in columns, not as an object for each.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

Part = tuple[str, tuple[tuple[str, int], ...]]
"""What one provider of each candidate gives: the suffix of a group, and amounts by class."""


@dataclass(frozen=True, slots=True)
class StockColumns:
    """The inventories of one class, an entry for each provider."""

    name: str
    capacities: Sequence[int]
    used: Sequence[int]


@dataclass(frozen=True, slots=True)
class Summaries:
    """Providers that have inventories of the same classes: a column for each thing to know."""

    uuids: Sequence[str]
    root_uuids: Sequence[str]
    parent_uuids: Sequence[str | None]
    traits: Sequence[tuple[str, ...]]
    stocks: tuple[StockColumns, ...]


Tell = Callable[[Summaries], Iterable[bytes]]
"""Makes a text about each of these providers, in their order."""


class Summarized(Protocol):
    """Providers of which something can be told."""

    def told(self, tell: Tell, *, kept: bool) -> Iterable[bytes]:
        """What `tell` makes of each, in any order.

        With `kept`, texts are kept and used again until something changes about a provider. Who
        asks for that must always tell the same of the same provider.
        """


@dataclass(frozen=True, slots=True)
class Candidates:
    """All ways found, and the providers of the trees they use."""

    summarized: Summarized
    parts: tuple[Part, ...] = ()
    choices: Sequence[tuple[int, ...]] = ()
    """For each candidate: who gives each part, as a place in `uuids`."""
    uuids: Sequence[str] = ()
