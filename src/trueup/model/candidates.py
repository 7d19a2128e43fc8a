# SPDX-License-Identifier: Apache-2.0
"""The answer of GET /allocation_candidates."""

from collections.abc import Mapping
from dataclasses import dataclass

from trueup.model.allocations import Place


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to satisfy the request: amounts by place, and who satisfied which group."""

    amounts: Mapping[Place, int]
    mappings: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ProviderSummary:
    """A provider of a tree that some candidate uses."""

    uuid: str
    root_uuid: str
    parent_uuid: str | None
    traits: tuple[str, ...]
    resources: Mapping[str, tuple[int, int]]
    """By resource class: capacity and what is used of it."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """All ways found, and the providers of the trees they use."""

    candidates: tuple[Candidate, ...] = ()
    summaries: tuple[ProviderSummary, ...] = ()
