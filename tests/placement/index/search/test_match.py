# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.placement.index.clouds import SHARES, Host, group, view_of
from trueup.model.requests import CandidateRequest, RequestGroup
from trueup.placement.index.search.match import NoCandidates, match_request

CLOUD = [
    Host("host", {"VCPU": 8}, aggregates=("pool",)),
    Host("numa", {"VCPU": 4}, "host", traits=("FAST",)),
    Host("other", {"VCPU": 8}),
    Host("disks", {"DISK_GB": 9}, traits=(SHARES,), aggregates=("pool",)),
]


def pairs(*groups: RequestGroup) -> list[set[tuple[str, str]]]:
    """For each slot: its offers, as pairs of an anchor and a provider."""
    view = view_of(CLOUD)
    names = view.forest.uuids
    return [
        {
            (names[anchor], names[position])
            for anchor, position in zip(slot.offers.anchors, slot.offers.positions, strict=True)
        }
        for slot in match_request(CandidateRequest(groups), view)
    ]


def test_a_group_without_suffix_is_a_slot_for_each_class() -> None:
    cpus, disks = pairs(group(DISK_GB=1, VCPU=1))
    assert cpus == {("host", "host"), ("host", "numa"), ("other", "other")}
    assert disks == {("disks", "disks"), ("host", "disks")}


def test_a_group_with_a_suffix_is_one_slot() -> None:
    (found,) = pairs(group("1", VCPU=1, required="FAST"))
    assert found == {("host", "numa")}


def test_members_of_the_root_are_members_only_without_a_suffix() -> None:
    (spread,) = pairs(group(VCPU=1, member_of="pool"))
    assert spread == {("host", "host"), ("host", "numa")}
    (alone,) = pairs(group("1", VCPU=1, member_of="pool"))
    assert alone == {("host", "host")}


def test_in_tree_excludes_sharing_providers_of_other_trees() -> None:
    with pytest.raises(NoCandidates):
        pairs(group(VCPU=1, DISK_GB=1, in_tree="host"))


def test_the_first_group_that_no_provider_satisfies_ends_the_search() -> None:
    with pytest.raises(NoCandidates):
        pairs(group("1", VCPU=99), group("2", NOBODY=1))


def test_groups_that_differ_only_in_their_suffix_have_the_same_offers() -> None:
    view = view_of(CLOUD)
    asked = CandidateRequest((group("1", VCPU=1), group("2", VCPU=1), group("3", VCPU=2)))
    first, second, third = match_request(asked, view)
    assert first.offers is second.offers
    assert first.offers is not third.offers
    assert [slot.suffix for slot in (first, second, third)] == ["1", "2", "3"]


def test_traits_of_a_single_class_are_its_providers_own() -> None:
    (one,) = pairs(group(VCPU=1, required="FAST"))
    assert one == {("host", "numa")}
    cpus, disks = pairs(group(VCPU=1, DISK_GB=1, required="FAST"))
    assert ("host", "host") in cpus
    assert ("host", "disks") in disks
