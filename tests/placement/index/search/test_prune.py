# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.placement.index.clouds import Host, group, view_of
from trueup.model.requests import CandidateRequest, RequestGroup
from trueup.placement.index.search.constraints import constrain
from trueup.placement.index.search.match import NoCandidates, match_request
from trueup.placement.index.search.prune import PrunedTrees, prune


def card(name: str, parent: str, *traits: str) -> Host:
    return Host(name, {"SRIOV_NET_VF": 2}, parent, traits)


def node(name: str, parent: str) -> Host:
    return Host(name, {"VCPU": 4}, parent)


CLOUD = [
    Host("host1", {"DISK_GB": 9}, traits=("SMALL",)),
    node("host1_node1", "host1"),
    card("host1_card1", "host1_node1", "RED"),
    node("host1_node2", "host1"),
    Host("host2", {"DISK_GB": 9}),
    node("host2_node1", "host2"),
    card("host2_card1", "host2", "FAST"),
    card("host2_card2", "host2"),
]
VIEW = view_of(CLOUD)


def pruned(*groups: RequestGroup, **wide: object) -> PrunedTrees:
    request = CandidateRequest(groups, **wide)
    slots, constraints = constrain(match_request(request, VIEW), request, True)
    return prune(slots, constraints, VIEW)


def names(trees: PrunedTrees) -> list[set[str]]:
    """The providers that are left for each slot."""
    uuids = VIEW.forest.uuids
    return [
        {uuids[position] for position in slot.offers.positions.tolist()} for slot in trees.slots
    ]


def roots(trees: PrunedTrees) -> set[str]:
    return {VIEW.forest.uuids[anchor] for anchor in trees.anchors.tolist()}


def test_only_trees_with_an_offer_for_each_slot_are_left() -> None:
    trees = pruned(group("1", SRIOV_NET_VF=1, required="FAST"), group("2", VCPU=1))
    assert names(trees) == [{"host2_card1"}, {"host2_node1"}]
    assert roots(trees) == {"host2"}


def test_offers_of_a_tree_are_a_slice() -> None:
    trees = pruned(group("1", SRIOV_NET_VF=1), group("2", DISK_GB=1))
    disks, cards = (trees.firsts[slot.offers].tolist() for slot in trees.slots)
    assert (cards, disks) == ([0, 1, 3], [0, 1, 2])


def test_offers_outside_of_any_possible_subtree_are_removed() -> None:
    together = (frozenset({"1", "2"}),)
    trees = pruned(group("1", VCPU=1), group("2", SRIOV_NET_VF=1), same_subtrees=together)
    assert names(trees) == [{"host1_node1"}, {"host1_card1"}]


def test_trees_with_too_few_devices_are_removed() -> None:
    three = [group(str(number), SRIOV_NET_VF=1) for number in (1, 2, 3)]
    assert roots(pruned(*three)) == {"host2"}
    with pytest.raises(NoCandidates):
        pruned(*three, isolate=True)


def test_traits_may_come_from_several_slots() -> None:
    trees = pruned(group(DISK_GB=1, SRIOV_NET_VF=1, required="SMALL RED"))
    assert roots(trees) == {"host1"}
    assert trees.traits is None
    trees = pruned(group(DISK_GB=1, SRIOV_NET_VF=1, required="FAST"))
    assert (roots(trees), trees.traits is None) == ({"host2"}, False)


def test_a_single_slot_needs_a_provider_with_all_traits() -> None:
    assert names(pruned(group(SRIOV_NET_VF=1, required="FAST|RED"))) == [
        {"host1_card1", "host2_card1"}
    ]


def test_any_number_of_traits_can_be_required() -> None:
    asked = group(DISK_GB=1, SRIOV_NET_VF=1, required=" ".join(["SMALL RED"] * 40))
    assert roots(pruned(asked)) == {"host1"}
