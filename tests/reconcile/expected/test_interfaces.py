# SPDX-License-Identifier: Apache-2.0
"""Two physical functions have the bandwidth; the port's device is on one of them."""

from tests.reconcile.expected.asking import CELL, NOW, PLAIN, ROOT, facts, instance, provider
from trueup.reconcile.expected.host_providers import host_providers_of
from trueup.reconcile.expected.interfaces import interface_of_provider
from trueup.reconcile.expected.ports import suitable_providers
from trueup.reconcile.facts import (
    ComputeNode,
    Domain,
    PciDevice,
    PciRequest,
    Port,
    PortRequestGroup,
)

BANDWIDTH = {"NET_BW_EGR_KILOBIT_PER_SEC": 1000}
RATE = {"NET_PACKET_RATE_KILOPACKET_PER_SEC": 10}
FIRST = provider("first", *BANDWIDTH, name="h1:NIC Switch agent:ens1")
SECOND = provider("second", *BANDWIDTH, name="h1:NIC Switch agent:ens2")
AGENT = provider("agent", *RATE, name="h1:NIC Switch agent")
NODE = ComputeNode(ROOT, CELL, "h1", "h1", number=7)
BOTH = ("first", "second")


def device(address, interface, request="r1", node=7, given="web"):
    return PciDevice(
        CELL, node, address, "8086", "10ed", "type-VF", "allocated", given, request,
        parent_interface=interface,
    )  # fmt: skip


ON_ENS1, ON_ENS2 = device("0000:81:00.1", "ens1"), device("0000:82:00.1", "ens2")


def suitable(devices=(), domains=(), interface=None, vnic_type="direct", **profile):
    specs = (
        {"physical_network": "physnet1"} | ({"parent_ifname": interface} if interface else {}),
    )
    web = instance(pci_requests=(PciRequest("r1", 1, requester="p1", specs=specs),))
    groups = (PortRequestGroup("g1", (), BANDWIDTH), PortRequestGroup("g2", (), RATE))
    port = Port(
        "p1", "web", "compute:nova", vnic_type=vnic_type, request_groups=groups, profile=profile
    )
    cloud = facts(
        PLAIN, FIRST, SECOND, AGENT, compute_nodes=(NODE,), pci_devices=tuple(devices),
        ports=(port,), domains=tuple(domains),
    )  # fmt: skip
    assert cloud.taken_at == NOW
    host = host_providers_of(ROOT, cloud)
    assert suitable_providers(port, groups[1], web, host, cloud) == ("agent",)
    return suitable_providers(port, groups[0], web, host, cloud)


def guest(*addresses, host="h1"):
    return Domain("web", host, "web", "running", ours=True, host_devices=addresses)


def test_without_evidence_both_are_possible():
    assert suitable() == BOTH


def test_the_device_of_the_ports_request_decides():
    assert suitable([ON_ENS2]) == ("second",)
    assert suitable([ON_ENS1], interface="ens2") == ("first",)


def test_another_ports_device_or_another_hosts_says_nothing():
    assert suitable([device("0000:82:00.1", "ens2", request="r2")]) == BOTH
    assert suitable([device("0000:82:00.1", "ens2", node=8)]) == BOTH
    assert suitable([device("0000:82:00.1", "ens2", given="db")]) == BOTH


def test_the_interface_of_the_request_decides_where_no_device_is_known():
    assert suitable(interface="ens2") == ("second",)
    assert suitable([device("0000:82:00.1", None)], interface="ens2") == ("second",)


def test_the_address_in_the_ports_profile_decides():
    rows = [device("0000:82:00.1", "ens2", request="another", given=None), ON_ENS1]
    assert suitable(rows[:1], pci_slot="0000:82:00.1") == ("second",)
    assert suitable(rows, pci_slot="0000:82:00.1") == ("first",)


def test_the_domain_decides_where_nova_lost_the_device():
    lost = [
        device(row.address, row.parent_interface, None, given=None) for row in (ON_ENS1, ON_ENS2)
    ]
    assert suitable(lost, [guest("0000:82:00.1")]) == ("second",)
    assert suitable(lost, [guest("0000:81:00.1", "0000:82:00.1")]) == BOTH
    assert suitable(lost, [guest("0000:82:00.1", host="h2")]) == BOTH


def test_a_device_that_the_domain_does_not_have_is_no_evidence():
    assert suitable([ON_ENS2], [guest("0000:82:00.1")]) == ("second",)
    assert suitable([ON_ENS2], [guest("0000:81:00.1")]) == BOTH


def test_an_interface_without_a_provider_suits_none():
    assert suitable([device("0000:83:00.1", "ens3")]) == ()


def test_a_port_without_a_device_is_on_no_function():
    assert suitable([ON_ENS2], vnic_type="normal") == BOTH


def test_the_interface_in_a_providers_name():
    assert interface_of_provider("h1:NIC Switch agent:ens1") == "ens1"
    assert interface_of_provider("h1:NIC Switch agent") is None
    assert interface_of_provider("h1:a:b:c") is None
