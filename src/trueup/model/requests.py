# SPDX-License-Identifier: Apache-2.0
"""What GET /allocation_candidates asks for, and the filters of a list of providers.

The values are the same for all microversions. They may name classes, traits, aggregates and
providers that do not exist.
"""

from dataclasses import dataclass

AnyOf = frozenset[str]
"""Alternatives: one of these names suffices."""


@dataclass(frozen=True, slots=True)
class RequestGroup:
    """One request group. With a suffix, one provider must satisfy all of it.

    Each entry of `required` and of `member_of` is satisfied by one of its alternatives.
    """

    suffix: str = ""
    resources: tuple[tuple[str, int], ...] = ()
    required: tuple[AnyOf, ...] = ()
    forbidden: frozenset[str] = frozenset()
    member_of: tuple[AnyOf, ...] = ()
    forbidden_aggregates: frozenset[str] = frozenset()
    in_tree: str | None = None

    @property
    def one_provider(self) -> bool:
        """Whether a single provider must satisfy the whole group."""
        return bool(self.suffix)


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """All request groups, and the parameters that are not of one group."""

    groups: tuple[RequestGroup, ...]
    limit: int | None = None
    isolate: bool = False
    root_required: frozenset[str] = frozenset()
    root_forbidden: frozenset[str] = frozenset()
    same_subtrees: tuple[frozenset[str], ...] = ()
    nested: bool = True
    """Whether the client understands candidates with several providers of one tree."""

    @property
    def resource_classes(self) -> frozenset[str]:
        """The resource classes of all groups."""
        return frozenset(name for group in self.groups for name, _ in group.resources)


@dataclass(frozen=True, slots=True)
class ProviderFilters:
    """Filters of a list of providers; a provider must satisfy all that are set."""

    name: str | None = None
    uuid: str | None = None
    in_tree: str | None = None
    resources: tuple[tuple[str, int], ...] = ()
    required: tuple[AnyOf, ...] = ()
    forbidden: frozenset[str] = frozenset()
    member_of: tuple[AnyOf, ...] = ()
    forbidden_aggregates: frozenset[str] = frozenset()
