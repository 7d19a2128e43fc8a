# SPDX-License-Identifier: Apache-2.0
"""Parses the query of GET /allocation_candidates."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from trueup.model.requests import CandidateRequest, RequestGroup
from trueup.placement.api.errors import BAD_VALUE, DUPLICATE_KEY, MISSING_VALUE, bad_request
from trueup.placement.api.versions import V
from trueup.placement.api.wire import query
from trueup.placement.api.wire.query import Pairs
from trueup.placement.api.wire.schema import STRING, Checked, Field, Object

_NUMBER = "[1-9][0-9]*"
_WORD = "[a-zA-Z0-9_-]{1,64}"


def _of_group(name: str, since: V) -> tuple[Field, ...]:
    """A parameter of a group, whose suffix was a number before it could be any word."""
    until = V.FORBIDDEN_AGGREGATES
    return (
        Field(f"^{name}({_NUMBER})?$", STRING, since=since, until=until, pattern=True),
        Field(f"^{name}({_WORD})?$", STRING, since=V.NAMED_SUFFIXES, pattern=True),
    )


LIST_CANDIDATES = Checked(
    Object(
        Field("resources", STRING, until=V.REPEATED_MEMBER_OF, required=True),
        Field(
            "limit",
            {
                "type": ["integer", "string"],
                "pattern": "^[1-9][0-9]*$",
                "minimum": 1,
                "minLength": 1,
            },
            since=V.LIMIT,
        ),
        Field(
            "required",
            {"type": ["string"]},
            since=V.CANDIDATE_TRAITS,
            until=V.REPEATED_MEMBER_OF,
        ),
        Field(
            "member_of",
            {"type": ["string"]},
            since=V.CANDIDATE_MEMBER_OF,
            until=V.REPEATED_MEMBER_OF,
        ),
        *_of_group("resources", V.GRANULAR),
        *_of_group("required", V.GRANULAR),
        *_of_group("member_of", V.GRANULAR),
        *_of_group("in_tree", V.IN_TREE),
        Field("group_policy", {"type": "string", "enum": ["none", "isolate"]}, since=V.GRANULAR),
        Field("root_required", {"type": ["string"]}, since=V.ROOT_REQUIRED),
        Field("same_subtree", {"type": ["string"]}, since=V.SAME_SUBTREE),
    )
)

_KEY = {
    pattern: re.compile(f"^(resources|required|member_of|in_tree)({pattern})?$")
    for pattern in (_NUMBER, _WORD)
}


def parse(pairs: Pairs, version: V) -> CandidateRequest:
    """The request that the query describes. Raises Refused."""
    LIST_CANDIDATES.check_query(pairs, version)
    limit, policy = _first(pairs, "limit"), _first(pairs, "group_policy")
    root_required, root_forbidden = _root_traits(pairs)
    same_subtrees = _same_subtrees(pairs)
    groups = _groups(pairs, version)
    _refuse_bad_groups(groups, same_subtrees, version)
    if policy is None and sum(group.one_provider for group in groups) > 1:
        raise bad_request(
            'The "group_policy" parameter is required when specifying more than one '
            '"resources{N}" parameter.'
        )
    return CandidateRequest(
        groups=groups,
        limit=_limit(limit),
        isolate=policy == "isolate",
        root_required=root_required,
        root_forbidden=root_forbidden,
        same_subtrees=same_subtrees,
        nested=version >= V.NESTED_CANDIDATES,
    )


def _limit(given: str | None) -> int | None:
    if given is None or not given.isdecimal():
        return None
    try:
        return int(given)
    except ValueError as error:
        # Python converts at most 4300 digits.
        raise bad_request(
            f"Invalid query string parameters: 'limit' has {len(given)} digits"
        ) from error


def _first(pairs: Pairs, key: str) -> str | None:
    # PARITY: of a repeated parameter, the last value is checked and the first is used.
    return next(iter(query.values_of(pairs, key)), None)


def _root_traits(pairs: Pairs) -> tuple[frozenset[str], frozenset[str]]:
    values = query.values_of(pairs, "root_required")
    if not values:
        return frozenset(), frozenset()
    if len(values) > 1:
        raise bad_request(
            "Query parameter 'root_required' may be specified only once.", DUPLICATE_KEY
        )
    listed, forbidden = query.parse_traits(values[0], may_forbid=True)
    required = frozenset().union(*listed)
    conflicts = required & forbidden
    if conflicts:
        raise bad_request(
            "Conflicting required and forbidden traits found in root_required: "
            f"{', '.join(sorted(conflicts))}",
            BAD_VALUE,
        )
    return required, frozenset(forbidden)


def _same_subtrees(pairs: Pairs) -> tuple[frozenset[str], ...]:
    subtrees = []
    for value in query.values_of(pairs, "same_subtree"):
        suffixes = frozenset(part.strip() for part in value.split(","))
        if "" in suffixes:
            raise bad_request(
                "Empty string (unsuffixed group) can not be specified in `same_subtree` ",
                BAD_VALUE,
            )
        subtrees.append(suffixes)
    return tuple(subtrees)


def _groups(pairs: Pairs, version: V) -> tuple[RequestGroup, ...]:
    """One group for each suffix, in the order in which the query mentions them."""
    pattern = _KEY[_WORD if version >= V.NAMED_SUFFIXES else _NUMBER]
    by_suffix: dict[str, dict[str, Any]] = {}
    for key, value in pairs:
        match = pattern.match(key)
        if match is None:
            continue
        name, suffix = match[1], match[2] or ""
        values = by_suffix.setdefault(suffix, {"suffix": suffix})
        if name == "resources":
            values["resources"] = query.parse_resources(value)
        elif name == "required":
            required = query.parse_required(pairs, version, suffix)
            values["required"], values["forbidden"] = required
        elif name == "member_of":
            member_of = query.parse_member_of(pairs, version, suffix)
            values["member_of"], values["forbidden_aggregates"] = member_of
        else:
            values["in_tree"] = query.parse_in_tree(value)
    return tuple(RequestGroup(**values) for values in by_suffix.values())


def _refuse_bad_groups(
    groups: tuple[RequestGroup, ...], same_subtrees: tuple[frozenset[str], ...], version: V
) -> None:
    if version >= V.SAME_SUBTREE:
        _refuse_bad_suffixes(groups, frozenset().union(*same_subtrees))
    else:
        _refuse_groups_without_resources(groups)
    if version >= V.FORBIDDEN_TRAITS:
        _refuse_conflicts(groups)


def _refuse_bad_suffixes(groups: Iterable[RequestGroup], in_subtrees: frozenset[str]) -> None:
    """A group without resources must be in a same_subtree with others."""
    by_suffix: Mapping[str, RequestGroup] = {group.suffix: group for group in groups}
    bare = [suffix for suffix, group in by_suffix.items() if not group.resources]
    if len(bare) == len(by_suffix):
        raise bad_request(
            "There must be at least one resources or resources[$S] parameter.", MISSING_VALUE
        )
    alone = [suffix for suffix in bare if suffix not in in_subtrees]
    if alone:
        raise bad_request(
            "Resourceless suffixed group request should be specified in `same_subtree` "
            f"query param: bad group(s) - {alone}.",
            BAD_VALUE,
        )
    unknown = sorted(suffix for suffix in in_subtrees if suffix not in by_suffix)
    if unknown:
        raise bad_request(
            f"Real suffixes should be specified in `same_subtree`: {unknown} not found in "
            f"{list(by_suffix)}.",
            BAD_VALUE,
        )


def _refuse_groups_without_resources(groups: tuple[RequestGroup, ...]) -> None:
    bare = [group for group in groups if not group.resources]
    orphans = [f"required{group.suffix}" for group in bare if group.required]
    if orphans:
        raise bad_request(
            "All traits parameters must be associated with resources.  "
            f"Found the following orphaned traits keys: {', '.join(orphans)}"
        )
    orphans = [
        f"member_of{group.suffix}"
        for group in bare
        if group.member_of or group.forbidden_aggregates
    ]
    if orphans:
        raise bad_request(
            "All member_of parameters must be associated with resources. "
            f"Found the following orphaned member_of keys: {', '.join(orphans)}"
        )
    if bare:
        raise bad_request("All request groups must specify resources.")
    if not groups:
        raise bad_request(
            "At least one request group (`resources` or `resources{$S}`) is required."
        )


def _refuse_conflicts(groups: Iterable[RequestGroup]) -> None:
    conflicts = [
        f"required{group.suffix}: ({', '.join(sorted(any_of))})"
        for group in groups
        for any_of in group.required
        if any_of <= group.forbidden
    ]
    if conflicts:
        raise bad_request(
            "Conflicting required and forbidden traits found in the following traits keys: "
            f"{', '.join(sorted(conflicts))}"
        )
