# SPDX-License-Identifier: Apache-2.0
"""An explanation of `trueup why` in words: its verdict, and each filter as the query has it."""

from trueup.placement.why import filters
from trueup.placement.why.explain import Explanation


def verdict(found: Explanation) -> str:
    """How many hosts have candidates, or which filter leaves out the last."""
    decisive = next((step for step in found.steps if not step.left), None)
    if decisive is None:
        return f"{found.left} of {found.hosts} hosts have candidates."
    text = text_of(decisive.filter)
    return f"No host is left after {text}: it leaves out the last {decisive.lost} of {found.hosts}."


def text_of(one: filters.Filter) -> str:
    """A filter as the query has it."""
    match one:
        case filters.RootRequired():
            return f"root_required={one.name}"
        case filters.RootForbidden():
            return f"root_required={_none_of(one.names)}"
        case filters.Isolate():
            return "group_policy=isolate"
        case filters.SameSubtree():
            return f"same_subtree={','.join(sorted(one.suffixes))}"
        case _:
            return _text_in_group(one)


def _text_in_group(one: filters.GroupFilter) -> str:
    match one:
        case filters.Resource():
            return f"resources{one.suffix}={one.name}:{one.amount}"
        case filters.RequiredTrait():
            return f"required{one.suffix}={_any_of(one.any_of)}"
        case filters.ForbiddenTraits():
            return f"required{one.suffix}={_none_of(one.names)}"
        case filters.MemberOf():
            return f"member_of{one.suffix}={_any_of(one.any_of)}"
        case filters.NotMemberOf():
            return f"member_of{one.suffix}=!{_any_of(one.aggregates)}"
        case filters.InTree():
            return f"in_tree{one.suffix}={one.uuid}"


def _any_of(names: frozenset[str]) -> str:
    listed = ",".join(sorted(names))
    return f"in:{listed}" if len(names) > 1 else listed


def _none_of(names: frozenset[str]) -> str:
    return ",".join(f"!{name}" for name in sorted(names))
