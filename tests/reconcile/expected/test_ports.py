# SPDX-License-Identifier: Apache-2.0
from tests.reconcile.expected.asking import PLAIN, ROOT, facts, provider
from trueup.reconcile.expected import Ambiguous, Known
from trueup.reconcile.expected.host_providers import host_providers_of
from trueup.reconcile.expected.ports import port_parts
from trueup.reconcile.facts import Port, PortRequestGroup

BANDWIDTH = {"NET_BW_EGR_KILOBIT_PER_SEC": 1000, "NET_BW_IGR_KILOBIT_PER_SEC": 2000}
RATE = {"NET_PACKET_RATE_KILOPACKET_PER_SEC": 10}
AGENT = provider("agent", *RATE)
NIC, OTHER_NIC = provider("nic", *BANDWIDTH), provider("other-nic", *BANDWIDTH)
GROUPS = (
    PortRequestGroup("g1", ("CUSTOM_PHYSNET_1",), BANDWIDTH),
    PortRequestGroup("g2", (), RATE),
)


def parts(allocation, *providers):
    port = Port("p1", "web", "compute:nova", request_groups=GROUPS, allocation=allocation)
    return list(port_parts(port, host_providers_of(ROOT, facts(PLAIN, *providers))))


def test_the_port_names_its_providers():
    assert parts({"g1": "nic", "g2": "agent"}, AGENT, NIC, OTHER_NIC) == [
        Known("port p1", BANDWIDTH, "nic"),
        Known("port p1", RATE, "agent"),
    ]


def test_a_port_without_an_allocation_uses_the_only_provider():
    assert parts(None, AGENT, NIC) == [
        Known("port p1", BANDWIDTH, "nic"),
        Known("port p1", RATE, "agent"),
    ]


def test_a_port_without_an_allocation_is_ambiguous_between_two_providers():
    assert parts({}, AGENT, NIC, OTHER_NIC)[0] == Ambiguous(
        "port p1", BANDWIDTH, ("nic", "other-nic")
    )


def test_a_provider_of_another_host_is_ignored():
    elsewhere = provider("far", *BANDWIDTH, root="root-of-h2")
    assert parts({"g1": "far"}, AGENT, NIC, elsewhere)[0] == Known("port p1", BANDWIDTH, "nic")


def test_a_port_without_a_request_holds_nothing():
    port = Port("p1", "web", "compute:nova")
    assert list(port_parts(port, host_providers_of(ROOT, facts(PLAIN)))) == []
