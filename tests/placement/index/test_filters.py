# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

from tests.placement.index.clouds import group
from tests.placement.index.search.test_candidates import questions
from trueup.model.requests import CandidateRequest
from trueup.placement.index.filters import (
    InTree,
    Isolate,
    MemberOf,
    RequiredTrait,
    Resource,
    RootRequired,
    SameSubtree,
    filters_of,
    filters_without,
    request_of,
)

REQUEST = CandidateRequest(
    groups=(
        group(VCPU=4, MEMORY_MB=8, required="FAST|RED", member_of="a b"),
        group("_A", in_tree="host", VCPU=1),
        group("_B", required="RED"),
    ),
    isolate=True,
    root_required=frozenset({"FAST"}),
    same_subtrees=(frozenset({"_A", "_B"}),),
)


def test_every_parameter_is_a_filter():
    assert filters_of(REQUEST) == (
        Resource("", "VCPU", 4),
        Resource("", "MEMORY_MB", 8),
        RequiredTrait("", frozenset({"FAST", "RED"})),
        MemberOf("", frozenset({"a"})),
        MemberOf("", frozenset({"b"})),
        Resource("_A", "VCPU", 1),
        InTree("_A", "host"),
        RequiredTrait("_B", frozenset({"RED"})),
        RootRequired("FAST"),
        Isolate(),
        SameSubtree(frozenset({"_A", "_B"})),
    )


def test_all_filters_make_the_request_again():
    assert request_of(filters_of(REQUEST), REQUEST) == REQUEST


def test_a_group_without_its_resources_is_left_out():
    kept = [one for one in filters_of(REQUEST) if getattr(one, "suffix", None) != "_A"]
    part = request_of([*kept, InTree("_A", "host")], REQUEST)
    assert [one.suffix for one in part.groups] == ["", "_B"]
    assert part.same_subtrees == (frozenset({"_B"}),)


def test_of_the_only_class_of_a_group_one_unit_stays():
    filters = filters_of(REQUEST)
    assert filters_without(filters[0], filters) == list(filters[1:])
    changed = filters_without(filters[5], filters)
    assert changed[5] == Resource("_A", "VCPU", 1)
    assert len(changed) == len(filters)


def test_nothing_asks_for_nothing():
    assert request_of([], REQUEST) is None
    assert request_of([RootRequired("FAST")], REQUEST) is None


def test_any_request_can_be_taken_apart_and_put_together():
    for question, _, request in questions():
        whole = request_of(filters_of(request), request)
        assert whole is not None, question
        groups = [
            replace(
                group,
                required=tuple(dict.fromkeys(group.required)),
                member_of=tuple(dict.fromkeys(group.member_of)),
            )
            for group in request.groups
        ]
        assert list(whole.groups) == groups, question
        assert whole.root_required == request.root_required, question
        assert whole.root_forbidden == request.root_forbidden, question
