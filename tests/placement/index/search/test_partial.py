# SPDX-License-Identifier: Apache-2.0
from tests.placement.index.clouds import Host, group
from tests.placement.index.search.problems import Tree, tree_of

CLOUD = [
    Host("host", {"DISK_GB": 9}),
    Host("node1", {"VCPU": 4}, "host", traits=("FAST",)),
    Host("card1", {"SRIOV_NET_VF": 2}, "node1", traits=("RED",)),
    Host("node2", {"VCPU": 4}, "host"),
    Host("card2", {"SRIOV_NET_VF": 2}, "node2"),
]


def test_what_is_taken_is_no_longer_there() -> None:
    tree = tree_of(CLOUD, group("1", VCPU=3), group("2", VCPU=3))
    assert tree.take("node1")
    assert not tree.take("node1")
    assert tree.take("node2")
    tree.hand.give_back()
    tree.hand.give_back()
    assert tree.take("node2")


def test_isolated_groups_do_not_meet() -> None:
    tree = tree_of(CLOUD, group("1", VCPU=1), group("2", VCPU=1), isolate=True)
    assert tree.take("node1")
    assert not tree.take("node1")
    assert tree.take("node2")


def test_one_of_a_subtree_is_above_the_others() -> None:
    asked = (group("1", VCPU=1), group("2", SRIOV_NET_VF=1))
    tree = tree_of(CLOUD, *asked, same_subtrees=(frozenset({"1", "2"}),))
    first, second = tree.suffixes
    pairs: dict[str, str] = {"1": "node1", "2": "card1"}
    others = {"1": "node2", "2": "card2"}
    assert tree.take(pairs[first])
    assert not tree.take(others[second])
    assert tree.take(pairs[second])


def test_traits_are_counted_when_all_who_may_have_them_are_chosen() -> None:
    tree = tree_of(CLOUD, group(VCPU=1, SRIOV_NET_VF=1, required="FAST|RED"))
    classes = [slot.resources[0][0] for slot in tree.hand.table.trees.slots]
    without = {"VCPU": "node2", "SRIOV_NET_VF": "card2"}
    assert tree.take(without[classes[0]])
    assert not tree.take(without[classes[1]])
    assert tree.take({"VCPU": "node1", "SRIOV_NET_VF": "card1"}[classes[1]])


def test_old_clients_get_one_provider_of_each_tree() -> None:
    both = Host("both", {"VCPU": 4, "SRIOV_NET_VF": 2}, "host")
    tree = tree_of([*CLOUD, both], group(VCPU=1, SRIOV_NET_VF=1), nested=False)
    assert tree.take("both")
    assert not tree.take("card1")
    assert not tree.take("node1")
    assert tree.take("both")


def names_of(tree: Tree) -> list[str]:
    return [tree.view.forest.uuids[one] for one in tree.hand.chosen]


def test_free_slots_come_last() -> None:
    tree = tree_of(CLOUD, group(DISK_GB=1), group("1", VCPU=3), group("2", VCPU=3))
    assert tree.hand.table.bound == 2
    assert tree.suffixes == ["1", "2", ""]
    assert tree.take("node1")
    assert names_of(tree) == ["node1"]
