# SPDX-License-Identifier: Apache-2.0
"""An explanation of `trueup why` in words: its verdict, and each filter as the query has it."""

from functools import singledispatch

from trueup.placement.index.why import filters
from trueup.placement.index.why.explain import Explanation


def verdict(found: Explanation) -> str:
    """How many hosts have candidates, or which filter leaves out the last."""
    decisive = next((step for step in found.steps if not step.left), None)
    if decisive is None:
        return f"{found.left} of {found.hosts} hosts have candidates."
    text = text_of(decisive.filter)
    return f"No host is left after {text}: it leaves out the last {decisive.lost} of {found.hosts}."


@singledispatch
def text_of(one: object) -> str:
    """A filter as the query has it."""
    raise NotImplementedError(type(one).__name__)


@text_of.register
def _(one: filters.Resource) -> str:
    return f"resources{one.suffix}={one.name}:{one.amount}"


@text_of.register
def _(one: filters.RequiredTrait) -> str:
    return f"required{one.suffix}={_any_of(one.any_of)}"


@text_of.register
def _(one: filters.ForbiddenTraits) -> str:
    return f"required{one.suffix}={','.join(f'!{name}' for name in sorted(one.names))}"


@text_of.register
def _(one: filters.MemberOf) -> str:
    return f"member_of{one.suffix}={_any_of(one.any_of)}"


@text_of.register
def _(one: filters.NotMemberOf) -> str:
    return f"member_of{one.suffix}=!{_any_of(one.aggregates)}"


@text_of.register
def _(one: filters.InTree) -> str:
    return f"in_tree{one.suffix}={one.uuid}"


@text_of.register
def _(one: filters.RootRequired) -> str:
    return f"root_required={one.name}"


@text_of.register
def _(one: filters.RootForbidden) -> str:
    return f"root_required={','.join(f'!{name}' for name in sorted(one.names))}"


@text_of.register
def _(_one: filters.Isolate) -> str:
    return "group_policy=isolate"


@text_of.register
def _(one: filters.SameSubtree) -> str:
    return f"same_subtree={','.join(sorted(one.suffixes))}"


def _any_of(names: frozenset[str]) -> str:
    listed = ",".join(sorted(names))
    return f"in:{listed}" if len(names) > 1 else listed
