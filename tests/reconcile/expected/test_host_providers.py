# SPDX-License-Identifier: Apache-2.0
from tests.reconcile.expected.asking import PLAIN, ROOT, facts, provider
from trueup.reconcile.expected import UNSUFFIXED, Ambiguous, Group, Known, NotOurs
from trueup.reconcile.expected.host_providers import host_providers_of, parts_of

CARD = provider("card", "VGPU", "CUSTOM_MEMORY")
OTHER_CARD = provider("other-card", "VGPU")
POOL = provider("pool", "DISK_GB", root="pool", sharing=True, shares_with=frozenset({ROOT}))
FAR_POOL = provider("far-pool", "DISK_GB", root="far-pool", sharing=True)
DISKLESS = provider(ROOT, "VCPU", "MEMORY_MB")


def parts(group: Group, *providers):
    return list(parts_of([group], host_providers_of(ROOT, facts(*providers)), "flavor"))


def unsuffixed(**amounts: int) -> Group:
    return Group(UNSUFFIXED, amounts)


def test_classes_that_only_the_root_has_come_from_the_root():
    wanted = {"VCPU": 2, "DISK_GB": 4}
    assert parts(unsuffixed(**wanted), PLAIN, CARD) == [Known("flavor", wanted, ROOT)]


def test_the_group_without_a_suffix_may_come_from_several_providers():
    assert parts(unsuffixed(VCPU=2, VGPU=1), PLAIN, CARD) == [
        Known("flavor", {"VCPU": 2}, ROOT),
        Known("flavor", {"VGPU": 1}, "card"),
    ]


def test_a_group_with_a_suffix_comes_from_one_provider():
    group = Group("1", {"VGPU": 1, "CUSTOM_MEMORY": 2})
    assert parts(group, PLAIN, CARD, OTHER_CARD) == [
        Known("flavor, group 1", {"VGPU": 1, "CUSTOM_MEMORY": 2}, "card")
    ]


def test_with_two_possible_providers_the_part_is_ambiguous():
    assert parts(unsuffixed(VGPU=1), PLAIN, CARD, OTHER_CARD) == [
        Ambiguous("flavor", {"VGPU": 1}, ("card", "other-card"))
    ]


def test_a_class_that_no_provider_of_the_host_has_is_ambiguous_without_providers():
    assert parts(unsuffixed(FPGA=1), PLAIN) == [Ambiguous("flavor", {"FPGA": 1}, ())]


def test_a_pool_provides_to_the_hosts_that_it_shares_with():
    assert parts(unsuffixed(DISK_GB=4), DISKLESS, POOL, FAR_POOL) == [
        Known("flavor", {"DISK_GB": 4}, "pool")
    ]


def test_a_host_with_a_disk_and_a_pool_may_use_either():
    assert parts(unsuffixed(DISK_GB=4), PLAIN, POOL) == [
        Ambiguous("flavor", {"DISK_GB": 4}, (ROOT, "pool"))
    ]


def test_reservation_classes_belong_to_blazar():
    reservation = "CUSTOM_RESERVATION_4D17D41A"
    lease = provider("lease", reservation)
    assert parts(unsuffixed(VCPU=1, **{reservation: 1}), PLAIN, lease) == [
        NotOurs("flavor", {reservation: 1}, "Blazar"),
        Known("flavor", {"VCPU": 1}, ROOT),
    ]
