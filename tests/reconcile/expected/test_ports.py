# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.expected.asking import PLAIN, ROOT, facts, instance, provider
from trueup.reconcile.expected import Ambiguous, Known
from trueup.reconcile.expected.host_providers import host_providers_of
from trueup.reconcile.expected.ports import port_parts, requested_groups
from trueup.reconcile.facts import Port, PortRequestGroup

BANDWIDTH = {"NET_BW_EGR_KILOBIT_PER_SEC": 400, "NET_BW_IGR_KILOBIT_PER_SEC": 800}
RATE = {"NET_PACKET_RATE_KILOPACKET_PER_SEC": 10}
HALF = {name: amount // 2 for name, amount in BANDWIDTH.items()}
TRAITS = frozenset({"CUSTOM_PHYSNET_1", "CUSTOM_VNIC_TYPE_NORMAL"})
AGENT = provider("agent", *RATE)
NIC, OTHER_NIC = provider("nic", *BANDWIDTH), provider("other-nic", *BANDWIDTH)
GROUPS = (
    PortRequestGroup("g1", ("CUSTOM_PHYSNET_1",), BANDWIDTH),
    PortRequestGroup("g2", (), RATE),
)
WEB = instance()


def port(name="p1", groups=GROUPS, **more):
    return Port(name, "web", "compute:nova", request_groups=groups, **more)


def parts(ports, *providers, held=None, **more):
    cloud = facts(PLAIN, *providers, ports=tuple(ports), **more)
    host = host_providers_of(ROOT, cloud)
    return list(port_parts(requested_groups(WEB, host, cloud, held or {})))


def test_the_port_names_its_providers():
    named = port(allocation={"g1": "nic", "g2": "agent"})
    assert parts([named], AGENT, NIC, OTHER_NIC) == [
        Known("port p1", BANDWIDTH, "nic"),
        Known("port p1", RATE, "agent"),
    ]


def test_a_port_without_an_allocation_uses_the_only_provider():
    assert parts([port()], AGENT, NIC) == [
        Known("port p1", BANDWIDTH, "nic"),
        Known("port p1", RATE, "agent"),
    ]


def test_a_port_without_an_allocation_is_ambiguous_between_two_providers():
    assert parts([port()], AGENT, NIC, OTHER_NIC)[0] == Ambiguous(
        "port p1", BANDWIDTH, ("nic", "other-nic")
    )


def test_a_provider_of_another_host_is_ignored():
    elsewhere = provider("far", *BANDWIDTH, root="root-of-h2")
    named = port(allocation={"g1": "far"})
    assert parts([named], AGENT, NIC, elsewhere)[0] == Known("port p1", BANDWIDTH, "nic")


def test_a_port_without_a_request_holds_nothing():
    assert parts([port(groups=())]) == []


def test_a_port_that_nova_did_not_attach_holds_nothing():
    subport = Port("p2", "web", "trunk:subport", request_groups=GROUPS)
    assert parts([subport], AGENT, NIC) == []


def test_only_providers_with_the_traits_that_the_port_requires_are_possible():
    suited = provider("suited", *BANDWIDTH, traits=TRAITS)
    other = provider("other", *BANDWIDTH, traits=frozenset({"CUSTOM_PHYSNET_2"}))
    assert parts([port()], AGENT, suited, other)[0] == Known("port p1", BANDWIDTH, "suited")
    assert parts([port()], AGENT, other)[0] == Ambiguous("port p1", BANDWIDTH, ())


def test_a_provider_that_is_too_small_is_not_possible():
    more = PortRequestGroup("g1", (), dict.fromkeys(BANDWIDTH, 5000))
    assert parts([port(groups=(more,))], NIC) == [Ambiguous("port p1", more.resources, ())]


def test_groups_of_one_subtree_come_from_providers_above_each_other():
    below = provider("below", *BANDWIDTH, parent="agent")
    beside = provider("beside", *BANDWIDTH, parent=ROOT)
    agent = provider("agent", *RATE, parent=ROOT)
    together = port(same_subtree=("g1", "g2"))
    assert parts([together], agent, below, beside)[0] == Known("port p1", BANDWIDTH, "below")
    assert parts([port()], agent, below, beside)[0].providers == ("below", "beside")


def test_what_is_held_tells_which_provider_it_is():
    held = {"other-nic": BANDWIDTH}
    assert parts([port()], AGENT, NIC, OTHER_NIC, held=held)[0] == Known(
        "port p1", BANDWIDTH, "other-nic"
    )


def test_what_another_port_has_is_not_counted_twice():
    first = port("p1", GROUPS[:1], allocation={"g1": "nic"})
    second = port("p2", (PortRequestGroup("g3", (), BANDWIDTH),))
    found = parts([second, first], NIC, OTHER_NIC, held={"nic": BANDWIDTH})
    assert found == [
        Ambiguous("port p2", BANDWIDTH, ("nic", "other-nic")),
        Known("port p1", BANDWIDTH, "nic"),
    ]


def test_less_than_the_request_tells_nothing():
    found = parts([port()], AGENT, NIC, OTHER_NIC, held={"nic": HALF})
    assert found[0] == Ambiguous("port p1", BANDWIDTH, ("nic", "other-nic"))


def test_profile_and_ledger_that_name_different_providers_leave_it_open():
    named = port(groups=GROUPS[:1], allocation={"g1": "nic"})
    assert parts([named], NIC, OTHER_NIC, held={"other-nic": BANDWIDTH}) == [
        Ambiguous("port p1", BANDWIDTH, ("nic", "other-nic"))
    ]


def test_profile_and_ledger_that_agree_are_right_although_the_inventory_is_gone():
    named = port(groups=GROUPS[:1], allocation={"g1": "bare"})
    bare = provider("bare")
    assert parts([named], NIC, bare, held={"bare": BANDWIDTH}) == [
        Known("port p1", BANDWIDTH, "bare")
    ]


@pytest.mark.parametrize("choice", ["other-nic", "h1:NIC Switch agent:ens2"])
def test_an_operator_chooses_between_possible_providers(choice):
    second = provider("other-nic", *BANDWIDTH, name="h1:NIC Switch agent:ens2")
    chosen = {"p1": (choice,)}
    assert parts([port()], AGENT, NIC, second, chosen_providers=chosen) == [
        Known("port p1", BANDWIDTH, "other-nic"),
        Known("port p1", RATE, "agent"),
    ]


def test_a_choice_that_is_not_possible_chooses_nothing():
    found = parts([port()], AGENT, NIC, OTHER_NIC, chosen_providers={"p1": ("agent-x",)})
    assert found[0] == Ambiguous("port p1", BANDWIDTH, ("nic", "other-nic"))
