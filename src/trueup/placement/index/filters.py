# SPDX-License-Identifier: Apache-2.0
"""A request for candidates as single filters, and the request that only some of them make. Pure."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from trueup.model.requests import AnyOf, CandidateRequest, RequestGroup


@dataclass(frozen=True, slots=True)
class InGroup:
    """A filter of one group."""

    suffix: str


@dataclass(frozen=True, slots=True)
class Resource(InGroup):
    """An amount of a resource class."""

    name: str
    amount: int


@dataclass(frozen=True, slots=True)
class RequiredTrait(InGroup):
    """One of these traits."""

    any_of: AnyOf


@dataclass(frozen=True, slots=True)
class ForbiddenTraits(InGroup):
    """None of these traits."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class MemberOf(InGroup):
    """A member of one of these aggregates."""

    any_of: AnyOf


@dataclass(frozen=True, slots=True)
class NotMemberOf(InGroup):
    """A member of none of these aggregates."""

    aggregates: frozenset[str]


@dataclass(frozen=True, slots=True)
class InTree(InGroup):
    """In the tree of a provider."""

    uuid: str


@dataclass(frozen=True, slots=True)
class RootRequired:
    """The root of the tree has a trait."""

    name: str


@dataclass(frozen=True, slots=True)
class RootForbidden:
    """The root of the tree lacks these traits."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Isolate:
    """The groups use different providers (group_policy=isolate)."""


@dataclass(frozen=True, slots=True)
class SameSubtree:
    """The providers of these groups are in one subtree."""

    suffixes: frozenset[str]


AmountlessFilter = (
    RequiredTrait | ForbiddenTraits | MemberOf | NotMemberOf | InTree
    | RootRequired | RootForbidden | Isolate | SameSubtree
)  # fmt: skip
GroupFilter = Resource | RequiredTrait | ForbiddenTraits | MemberOf | NotMemberOf | InTree
Filter = Resource | AmountlessFilter


def filters_of(request: CandidateRequest) -> tuple[Filter, ...]:
    """All filters of a request: group by group, then those that are of no group."""
    return (
        *(filter_ for group in request.groups for filter_ in _of_group(group)),
        *(RootRequired(name) for name in sorted(request.root_required)),
        *([RootForbidden(request.root_forbidden)] if request.root_forbidden else []),
        *([Isolate()] if request.isolate and _suffixed(request) > 1 else []),
        *(SameSubtree(suffixes) for suffixes in dict.fromkeys(request.same_subtrees)),
    )


def filters_without(one: Filter, filters: Sequence[Filter]) -> list[Filter]:
    """All filters but one. Of the only resource class of a group, one unit stays."""
    others = [other for other in filters if other is not one]
    if not isinstance(one, Resource):
        return others
    if any(isinstance(other, Resource) and other.suffix == one.suffix for other in others):
        return others
    return [replace(one, amount=1) if other is one else other for other in filters]


def request_of(kept: Collection[Filter], request: CandidateRequest) -> CandidateRequest | None:
    """The request that only these of its filters make; None if they ask for no resources.

    A group whose resources are all left out is left out with all its filters.
    """
    groups = [
        (whole, _group([filter_ for filter_ in kept if isinstance(filter_, InGroup)], whole.suffix))
        for whole in request.groups
    ]
    left = [group for whole, group in groups if group.resources or _is_bare(whole, group)]
    if not any(group.resources for group in left):
        return None
    suffixes = frozenset(group.suffix for group in left)
    forbidden = [filter_.names for filter_ in kept if isinstance(filter_, RootForbidden)]
    subtrees = [filter_.suffixes & suffixes for filter_ in kept if isinstance(filter_, SameSubtree)]
    return replace(
        request,
        groups=tuple(left),
        limit=None,
        isolate=any(isinstance(filter_, Isolate) for filter_ in kept),
        root_required=frozenset(
            filter_.name for filter_ in kept if isinstance(filter_, RootRequired)
        ),
        root_forbidden=frozenset().union(*forbidden),
        same_subtrees=tuple(subtrees),
    )


def _suffixed(request: CandidateRequest) -> int:
    return sum(bool(group.suffix) for group in request.groups)


def _of_group(group: RequestGroup) -> Iterator[Filter]:
    suffix = group.suffix
    yield from (Resource(suffix, name, amount) for name, amount in group.resources)
    yield from (RequiredTrait(suffix, any_of) for any_of in dict.fromkeys(group.required))
    if group.forbidden:
        yield ForbiddenTraits(suffix, group.forbidden)
    yield from (MemberOf(suffix, any_of) for any_of in dict.fromkeys(group.member_of))
    if group.forbidden_aggregates:
        yield NotMemberOf(suffix, group.forbidden_aggregates)
    if group.in_tree is not None:
        yield InTree(suffix, group.in_tree)


def _is_bare(whole: RequestGroup, kept: RequestGroup) -> bool:
    """Whether a group that never had resources still has anything."""
    return not whole.resources and kept != RequestGroup(kept.suffix)


def _group(kept: Collection[InGroup], suffix: str) -> RequestGroup:
    own = [filter_ for filter_ in kept if filter_.suffix == suffix]
    trees = [filter_.uuid for filter_ in own if isinstance(filter_, InTree)]
    return RequestGroup(
        suffix=suffix,
        resources=tuple(
            (filter_.name, filter_.amount) for filter_ in own if isinstance(filter_, Resource)
        ),
        required=tuple(filter_.any_of for filter_ in own if isinstance(filter_, RequiredTrait)),
        forbidden=frozenset().union(
            *(filter_.names for filter_ in own if isinstance(filter_, ForbiddenTraits))
        ),
        member_of=tuple(filter_.any_of for filter_ in own if isinstance(filter_, MemberOf)),
        forbidden_aggregates=frozenset().union(
            *(filter_.aggregates for filter_ in own if isinstance(filter_, NotMemberOf))
        ),
        in_tree=trees[0] if trees else None,
    )


def text_of(one: Filter) -> str:
    """A filter as the query has it."""
    match one:
        case RootRequired():
            return f"root_required={one.name}"
        case RootForbidden():
            return f"root_required={_none_of(one.names)}"
        case Isolate():
            return "group_policy=isolate"
        case SameSubtree():
            return f"same_subtree={','.join(sorted(one.suffixes))}"
        case _:
            return _text_in_group(one)


def _text_in_group(one: GroupFilter) -> str:
    match one:
        case Resource():
            return f"resources{one.suffix}={one.name}:{one.amount}"
        case RequiredTrait():
            return f"required{one.suffix}={_any_of(one.any_of)}"
        case ForbiddenTraits():
            return f"required{one.suffix}={_none_of(one.names)}"
        case MemberOf():
            return f"member_of{one.suffix}={_any_of(one.any_of)}"
        case NotMemberOf():
            return f"member_of{one.suffix}=!{_any_of(one.aggregates)}"
        case InTree():
            return f"in_tree{one.suffix}={one.uuid}"


def _any_of(names: frozenset[str]) -> str:
    listed = ",".join(sorted(names))
    return f"in:{listed}" if len(names) > 1 else listed


def _none_of(names: frozenset[str]) -> str:
    return ",".join(f"!{name}" for name in sorted(names))
