# SPDX-License-Identifier: Apache-2.0
from tests.placement.index.clouds import Host, group, view_of
from tests.placement.index.search.problems import problem_of
from trueup.model.requests import CandidateRequest, RequestGroup
from trueup.placement.index.search.problem import SearchProblem

CLOUD = [
    Host("host", {"DISK_GB": 9}),
    Host("node1", {"VCPU": 4}, "host", traits=("FAST",)),
    Host("node2", {"VCPU": 4}, "host"),
]


def problem(*groups: RequestGroup, **wide: object) -> SearchProblem:
    return problem_of(CandidateRequest(groups, **wide), view_of(CLOUD))


def test_slots_that_restrict_no_other_are_not_dependent() -> None:
    assert problem(group(VCPU=1, DISK_GB=1)).dependent == 0
    assert problem(group(DISK_GB=1), group("1", VCPU=1), group("2", VCPU=1)).dependent == 2


def test_a_subtree_ends_at_its_last_slot() -> None:
    together = (frozenset({"_N", "_D"}),)
    found = problem(group("_N", VCPU=1), group("_D", DISK_GB=1), same_subtrees=together)
    assert found.subtrees_ending == ((), ((0, 1),))


def test_required_traits_bind_only_if_a_choice_may_lack_them() -> None:
    lacking = problem(group(VCPU=1, DISK_GB=1, required="FAST"))
    assert (lacking.dependent, lacking.last_unsuffixed_slot, lacking.all_traits) == (2, 1, 1)
    settled = problem(group(VCPU=3, DISK_GB=1, required="FAST", in_tree="host"))
    assert settled.dependent == 2
    hosts = [Host("host", {"DISK_GB": 9}, traits=("FAST",)), *CLOUD[1:]]
    request = CandidateRequest((group(VCPU=1, DISK_GB=1, required="FAST"),))
    settled = problem_of(request, view_of(hosts))
    assert (settled.dependent, settled.last_unsuffixed_slot, settled.all_traits) == (0, -1, 0)
