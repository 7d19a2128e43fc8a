# SPDX-License-Identifier: Apache-2.0
from tests.placement.index.clouds import Host, group, view_of
from tests.placement.index.search.problems import Tree, problem_of, tree_of
from trueup.model.requests import CandidateRequest, RequestGroup
from trueup.placement.index.search.partial_candidate import SearchProblem

CLOUD = [
    Host("host", {"DISK_GB": 9}),
    Host("node1", {"VCPU": 4}, "host", traits=("FAST",)),
    Host("card1", {"SRIOV_NET_VF": 2}, "node1", traits=("RED",)),
    Host("node2", {"VCPU": 4}, "host"),
    Host("card2", {"SRIOV_NET_VF": 2}, "node2"),
]


def test_added_amounts_are_no_longer_free() -> None:
    tree = tree_of(CLOUD, group("1", VCPU=3), group("2", VCPU=3))
    assert tree.add("node1")
    assert not tree.add("node1")
    assert tree.add("node2")
    tree.partial.remove()
    tree.partial.remove()
    assert tree.add("node2")


def test_isolated_groups_do_not_share_a_provider() -> None:
    tree = tree_of(CLOUD, group("1", VCPU=1), group("2", VCPU=1), isolate=True)
    assert tree.add("node1")
    assert not tree.add("node1")
    assert tree.add("node2")


def test_one_provider_of_a_subtree_is_the_ancestor_of_the_others() -> None:
    asked = (group("1", VCPU=1), group("2", SRIOV_NET_VF=1))
    tree = tree_of(CLOUD, *asked, same_subtrees=(frozenset({"1", "2"}),))
    first, second = tree.suffixes
    pairs: dict[str, str] = {"1": "node1", "2": "card1"}
    others = {"1": "node2", "2": "card2"}
    assert tree.add(pairs[first])
    assert not tree.add(others[second])
    assert tree.add(pairs[second])


def test_required_traits_are_checked_with_the_last_unsuffixed_slot() -> None:
    tree = tree_of(CLOUD, group(VCPU=1, SRIOV_NET_VF=1, required="FAST|RED"))
    classes = tree.classes
    without = {"VCPU": "node2", "SRIOV_NET_VF": "card2"}
    assert tree.add(without[classes[0]])
    assert not tree.add(without[classes[1]])
    assert tree.add({"VCPU": "node1", "SRIOV_NET_VF": "card1"}[classes[1]])


def test_old_clients_get_one_provider_of_each_tree() -> None:
    both = Host("both", {"VCPU": 4, "SRIOV_NET_VF": 2}, "host")
    tree = tree_of([*CLOUD, both], group(VCPU=1, SRIOV_NET_VF=1), nested=False)
    assert tree.add("both")
    assert not tree.add("card1")
    assert not tree.add("node1")
    assert tree.add("both")


def names_of(tree: Tree) -> list[str]:
    return [tree.view.forest.uuids[position] for position in tree.partial.chosen]


def test_free_slots_come_last() -> None:
    tree = tree_of(CLOUD, group(DISK_GB=1), group("1", VCPU=3), group("2", VCPU=3))
    assert tree.partial.problem.dependent == 2
    assert tree.suffixes == ["1", "2", ""]
    assert tree.add("node1")
    assert names_of(tree) == ["node1"]


NODES = [
    Host("host", {"DISK_GB": 9}),
    Host("node1", {"VCPU": 4}, "host", traits=("FAST",)),
    Host("node2", {"VCPU": 4}, "host"),
]


def problem(*groups: RequestGroup, **wide: object) -> SearchProblem:
    return problem_of(CandidateRequest(groups, **wide), view_of(NODES))


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
    hosts = [Host("host", {"DISK_GB": 9}, traits=("FAST",)), *NODES[1:]]
    request = CandidateRequest((group(VCPU=1, DISK_GB=1, required="FAST"),))
    settled = problem_of(request, view_of(hosts))
    assert (settled.dependent, settled.last_unsuffixed_slot, settled.all_traits) == (0, -1, 0)
