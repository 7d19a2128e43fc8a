# SPDX-License-Identifier: Apache-2.0
from tests.placement.index.clouds import Host, group
from tests.placement.index.search.problems import tree_of
from trueup.placement.index.search.feasibility import can_complete


def gpus(*traits: str) -> list[Host]:
    cards = [
        Host(f"gpu{number}", {"PGPU": 1}, "host", tuple(filter(None, [trait])))
        for number, trait in enumerate(traits)
    ]
    return [Host("host"), *cards]


def test_three_groups_do_not_fit_on_two_devices() -> None:
    """Each of them has an offer, and there are enough devices for all slots together."""
    red = [group(f"_R{number}", PGPU=1, required="RED") for number in (1, 2)]
    fast = [group("_F", PGPU=1, required="FAST|RED")]
    cloud = gpus("RED", "RED", "", "", "")
    tree = tree_of(cloud, *red, *fast, group("_ANY", PGPU=1))
    assert not can_complete(tree.partial)
    tree = tree_of([*cloud, Host("new", {"PGPU": 1}, "host", ("FAST",))], *red, *fast)
    assert can_complete(tree.partial)


def test_a_choice_that_leaves_nothing_for_another_slot_is_detected() -> None:
    asked = [group("_R", PGPU=1, required="RED"), group("_A", PGPU=1), group("_B", PGPU=1)]
    tree = tree_of(gpus("RED", "", ""), *asked)
    assert tree.suffixes[0] == "_R"
    assert tree.add("gpu0")
    assert can_complete(tree.partial)
    tree = tree_of(gpus("RED", "FAST", "FAST"), group("_A", PGPU=1), group("_B", PGPU=1))
    assert tree.add("gpu0")
    assert can_complete(tree.partial)


def test_providers_of_two_subtrees_have_no_ancestor_among_the_offers() -> None:
    nodes = [Host(f"node{n}", {"VCPU": 4}, "host") for n in (1, 2)]
    cards = [Host(f"card{n}", {"SRIOV_NET_VF": 4}, f"node{n}") for n in (1, 2)]
    asked = [group("_V", SRIOV_NET_VF=1), group("_W", SRIOV_NET_VF=2), group("_N", VCPU=1)]
    together = (frozenset({"_V", "_W", "_N"}),)
    tree = tree_of([Host("host"), *nodes, *cards], *asked, same_subtrees=together)
    assert tree.add("card1" if tree.suffixes[0] != "_N" else "node1")
    assert can_complete(tree.partial)
    assert tree.add("card2" if tree.suffixes[1] != "_N" else "node2")
    assert not can_complete(tree.partial)


def test_traits_that_no_slot_to_come_has_are_missed() -> None:
    cloud = [
        Host("host", {"DISK_GB": 9}),
        Host("node1", {"VCPU": 4}, "host", ("FAST",)),
        Host("node2", {"VCPU": 4}, "host"),
        Host("card1", {"SRIOV_NET_VF": 2}, "host", ("RED",)),
        Host("card2", {"SRIOV_NET_VF": 2}, "host"),
    ]
    tree = tree_of(cloud, group(DISK_GB=1, VCPU=1, SRIOV_NET_VF=1, required="FAST RED"))
    assert tree.add("host")
    assert can_complete(tree.partial)
    plain = {"VCPU": "node2", "SRIOV_NET_VF": "card2"}
    assert tree.add(plain[tree.classes[1]])
    assert not can_complete(tree.partial)
