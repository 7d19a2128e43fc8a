# SPDX-License-Identifier: Apache-2.0
"""The question of GET /allocation_candidates, and the filters of a list of providers.

Parsed and free of microversions; every name in here may still turn out not to exist.
"""

from dataclasses import dataclass

AnyOf = frozenset[str]
"""Alternatives: one of these names is enough."""


@dataclass(frozen=True, slots=True)
class RequestGroup:
    """What one group asks for. With a suffix it must all come from one provider.

    All of `required` and of `member_of` must hold, each by one of its alternatives.
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
    """All groups, and what concerns them together."""

    groups: tuple[RequestGroup, ...]
    limit: int | None = None
    isolate: bool = False
    root_required: frozenset[str] = frozenset()
    root_forbidden: frozenset[str] = frozenset()
    same_subtrees: tuple[frozenset[str], ...] = ()
    nested: bool = True
    """Whether the client understands candidates that use several providers of one tree."""

    @property
    def resource_classes(self) -> frozenset[str]:
        """The names of all classes that any group asks for."""
        return frozenset(name for group in self.groups for name, _ in group.resources)


@dataclass(frozen=True, slots=True)
class ProviderFilters:
    """Which providers a list shall show: those that meet all that is set."""

    name: str | None = None
    uuid: str | None = None
    in_tree: str | None = None
    resources: tuple[tuple[str, int], ...] = ()
    required: tuple[AnyOf, ...] = ()
    forbidden: frozenset[str] = frozenset()
    member_of: tuple[AnyOf, ...] = ()
    forbidden_aggregates: frozenset[str] = frozenset()
