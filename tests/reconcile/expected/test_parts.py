# SPDX-License-Identifier: Apache-2.0
from trueup.reconcile.expected.parts import (
    Ambiguous,
    ExpectedAllocation,
    Known,
    NotOurs,
    Share,
    Unknown,
    held_of,
    open_reason,
)
from trueup.reconcile.reasons import because
from trueup.reconcile.report.reasons import in_words

DISK = Known("flavor", {"DISK_GB": 1}, "pool")
FLAVOR = Known("flavor", {"VCPU": 2}, "root")
DEVICE = Known("PCI alias gpu", {"CUSTOM_GPU": 1}, "card")
EITHER = Ambiguous("port p", {"NET_BW_EGR_KILOBIT_PER_SEC": 5}, ("nic-2", "nic-1"))
NEITHER = Ambiguous("flavor", {"CUSTOM_GOLD": 5}, ())
RESERVED = NotOurs("flavor", {"CUSTOM_RESERVATION_X": 1}, "Blazar")
SECRET = NotOurs("device profile fast", {}, "Cyborg")


def test_known_parts_are_summed_by_provider():
    whole = ExpectedAllocation("web", (FLAVOR, DISK, DEVICE, DEVICE, EITHER))
    assert whole.known == {
        "root": {"VCPU": 2},
        "pool": {"DISK_GB": 1},
        "card": {"CUSTOM_GPU": 2},
    }
    assert whole.open == (EITHER,)
    assert whole.providers == {"root", "pool", "card", "nic-1", "nic-2"}


def test_a_share_is_what_belongs_to_it_and_what_may():
    unread = Unknown(because("ports-not-read"), frozenset({Share.PORTS}))
    whole = ExpectedAllocation("web", (FLAVOR, DISK, DEVICE, EITHER, RESERVED, unread))
    assert whole.of(Share.HOST).parts == (FLAVOR, DISK)
    assert whole.of(Share.DEVICES).parts == (DEVICE, RESERVED)
    assert whole.of(Share.PORTS).parts == (EITHER, unread)


def test_amounts_are_split_by_their_classes():
    held = {"root": {"VCPU": 2, "VGPU": 1}, "nic": {"NET_PACKET_RATE_KILOPACKET_PER_SEC": 3}}
    assert held_of(Share.HOST, held) == {"root": {"VCPU": 2}}
    assert held_of(Share.DEVICES, held) == {"root": {"VGPU": 1}}
    assert held_of(Share.PORTS, held) == {"nic": {"NET_PACKET_RATE_KILOPACKET_PER_SEC": 3}}


def test_an_empty_expectation_is_known():
    assert ExpectedAllocation("shelf", ()) == ExpectedAllocation("shelf", ())
    assert (ExpectedAllocation("shelf", ()).known, ExpectedAllocation("shelf", ()).open) == ({}, ())


def test_every_open_part_says_why():
    names = {"nic-1": "h1:eth1", "nic-2": "h1:eth2"}
    assert [in_words(open_reason(one, names)) for one in (EITHER, NEITHER, RESERVED, SECRET)] == [
        "port p: NET_BW_EGR_KILOBIT_PER_SEC may come from any of h1:eth1, h1:eth2",
        "flavor: its host has no inventory of CUSTOM_GOLD",
        "flavor: CUSTOM_RESERVATION_X is allocated by Blazar",
        "device profile fast: what it holds is allocated by Cyborg",
    ]
    assert open_reason(Unknown(because("claim-unknown")), names) == because("claim-unknown")
