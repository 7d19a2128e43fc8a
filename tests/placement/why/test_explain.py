# SPDX-License-Identifier: Apache-2.0
"""The verdict is that of the definition of a candidate, for any request."""

from itertools import pairwise

import pytest

from tests.placement.index.clouds import SHARES, Host, group, view_of
from tests.placement.index.naive import naive_candidates
from tests.placement.index.search.test_candidates import questions
from trueup.model.errors import ResourceClassNotFound, TraitNotFound
from trueup.model.requests import CandidateRequest
from trueup.placement.why.explain import explain


def test_a_host_is_left_if_and_only_if_there_are_candidates():
    answered = silent = 0
    for question, cloud, request in questions():
        found = explain(request, view_of(cloud))
        expected = bool(naive_candidates(cloud, request))
        assert (found.left > 0) == expected, question
        answered, silent = answered + expected, silent + (not expected)
        lefts = [found.hosts, *(step.left for step in found.steps)]
        assert all(before >= after for before, after in pairwise(lefts)), question
        assert all(
            step.lost == before - step.left
            for before, step in zip(lefts, found.steps, strict=False)
        ), question
        if not expected:
            [lost, *_] = [step for step in found.steps if not step.left]
            assert lost.nearest or not lost.lost, question
            assert all(step.left_without is not None for step in found.steps)
    assert answered > 350
    assert silent > 350


HOSTS = [
    Host("compute1", {"VCPU": 8, "MEMORY_MB": 64}, used={"VCPU": 6}, traits=("FAST",)),
    Host("compute2", {"VCPU": 8, "MEMORY_MB": 64}, used={"VCPU": 8}, traits=("FAST",)),
    Host("compute3", {"VCPU": 8, "MEMORY_MB": 64}, aggregates=("rack",)),
    Host("numa", {"SRIOV_NET_VF": 4}, "compute3"),
]


def lacks(*groups, hosts=HOSTS, **wide):
    """The step after which nobody is left: hosts lost, near misses, and hosts without the step."""
    found = explain(CandidateRequest(groups=groups, **wide), view_of(hosts))
    assert found.left == 0
    step = next(one for one in found.steps if not one.left)
    return step.lost, [f"{one.root_uuid}: {one.lacks}" for one in step.nearest], step.left_without


def test_the_nearest_by_amount_comes_first():
    lost, near, without = lacks(group(VCPU=9, MEMORY_MB=8))
    assert lost == 3
    assert near == [
        "compute3: VCPU: 8 free of 8",
        "compute1: VCPU: 2 free of 8",
        "compute2: VCPU: 0 free of 8",
    ]
    assert without == 3


@pytest.mark.parametrize(
    ("asked", "wide", "near"),
    [
        (group(VCPU=4, required="FAST"), {}, ["compute3: no FAST"]),
        (
            group(VCPU=1, forbidden="FAST", not_member_of="rack"),
            {},
            ["compute3: in a forbidden aggregate"],
        ),
        (group(VCPU=4, in_tree="compute1"), {}, ["compute3: another tree"]),
        (group(VCPU=4, DISK_GB=1), {}, ["compute3: no inventory of DISK_GB"]),
        (group(VCPU=2, required="FAST", member_of="rack"), {}, [
            "compute1: in none of the aggregates",
        ]),
        (
            group(VCPU=4),
            {"root_required": frozenset({"FAST"})},
            ["compute3: its root has no FAST"],
        ),
        (
            group(MEMORY_MB=1, VCPU=2, required="FAST"),
            {"root_forbidden": frozenset({"FAST"})},
            ["compute1: its root has FAST"],
        ),
    ],
)  # fmt: skip
def test_each_filter_says_what_is_lacking(asked, wide, near):
    assert lacks(asked, **wide)[1] == near


def test_units_are_told():
    hosts = [Host("one", {"VCPU": 64}, max_unit=8), Host("two", {"VCPU": 64}, step_size=7)]
    assert lacks(group(VCPU=16), hosts=hosts)[1] == [
        "one: VCPU: 64 free, max_unit 8",
        "two: VCPU: 64 free, step_size 7",
    ]


def test_groups_that_do_not_fit_beside_each_other():
    hosts = [Host("host", {"VCPU": 0}), Host("numa", {"VCPU": 4}, "host")]
    one, other = group("_A", VCPU=2), group("_B", VCPU=2)
    assert lacks(one, other, hosts=hosts, isolate=True)[1] == [
        "host: too few providers for groups of their own"
    ]
    assert lacks(one, group("_B", VCPU=3), hosts=hosts)[1] == [
        "host: VCPU: 4 free, but not together with the rest of the request"
    ]


def test_one_subtree():
    hosts = [
        Host("host"),
        Host("numa0", {"VCPU": 4}, "host"),
        Host("numa1", {"SRIOV_NET_VF": 4}, "host"),
    ]
    asked = group("_A", VCPU=1), group("_B", SRIOV_NET_VF=1)
    assert lacks(*asked, hosts=hosts, same_subtrees=(frozenset({"_A", "_B"}),))[1] == [
        "host: no subtree has room for all of these groups"
    ]


def test_a_pool_that_shares_counts_for_its_hosts():
    pool = Host("pool", {"DISK_GB": 100}, traits=(SHARES,), aggregates=("rack",))
    lost, near, _ = lacks(group(VCPU=4, DISK_GB=200), hosts=[*HOSTS, pool])
    assert (lost, near) == (1, ["compute3: DISK_GB: 100 free of 100"])


def test_what_would_help_is_told():
    found = explain(
        CandidateRequest(groups=(group(VCPU=4, required="FAST", member_of="rack"),)),
        view_of(HOSTS),
    )
    assert [step.left_without for step in found.steps] == [0, 1, 0]


def test_names_that_do_not_exist_are_refused_as_the_search_refuses_them():
    with pytest.raises(ResourceClassNotFound):
        explain(CandidateRequest(groups=(group(NOBODY=1),)), view_of(HOSTS))
    with pytest.raises(TraitNotFound):
        explain(CandidateRequest(groups=(group(VCPU=1, required="NOBODY"),)), view_of(HOSTS))


def test_with_candidates_nothing_is_missing():
    found = explain(CandidateRequest(groups=(group(VCPU=1),)), view_of(HOSTS))
    assert (found.hosts, found.left) == (3, 2)
    assert found.steps[0].left_without is None
