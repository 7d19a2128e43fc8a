# SPDX-License-Identifier: Apache-2.0
"""Ports of a real Neutron (recorded, see tests/clouds/answers.py), of older ones, and of none."""

import pytest

from tests.clouds import answers
from tests.reconcile.sources.broken_server import Reply, adapter_of, answering
from trueup.reconcile.facts import Port, PortRequestGroup
from trueup.reconcile.sources import neutron
from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.sources.neutron import Neutron, parse_port

BANDWIDTH = {"NET_BW_EGR_KILOBIT_PER_SEC": 1000, "NET_BW_IGR_KILOBIT_PER_SEC": 2000}
TRAITS = ("CUSTOM_PHYSNET_PHYSNET0", "CUSTOM_VNIC_TYPE_NORMAL")
PLAIN = {
    "id": "p1",
    "device_id": "web",
    "device_owner": "compute:nova",
    "project_id": "a-project",
    "binding:host_id": "h1",
    "binding:vnic_type": "direct",
    "binding:vif_type": "hw_veb",
    "binding:profile": {},
    "resource_request": None,
}


def test_the_ports_of_a_real_neutron():
    with answers.replayed(answers.load("every-kind/api")) as adapter:
        [port] = Neutron(adapter).ports()
    [group] = port.request_groups
    assert (group.required, group.resources) == (TRAITS, BANDWIDTH)
    assert port.allocation == {group.id: "f789eb4a-77f5-4b74-8998-ff22d5390062"}
    assert port.same_subtree == (group.id,)
    assert (port.device_owner, port.host, port.vif_type) == ("compute:nova", "devstack1", "ovs")


def test_a_port_in_the_older_format():
    row = PLAIN | {
        "binding:profile": {"allocation": "a-provider"},
        "resource_request": {"required": list(TRAITS), "resources": BANDWIDTH},
    }
    port = parse_port(row)
    assert port.profile_with({"p1": "another"}) == {"allocation": "another"}
    assert port == Port(
        id="p1", device="web", device_owner="compute:nova", project="a-project", host="h1",
        vnic_type="direct", vif_type="hw_veb", allocation={"p1": "a-provider"},
        profile={"allocation": "a-provider"}, revision=None,
        request_groups=(PortRequestGroup("p1", TRAITS, BANDWIDTH),),
    )  # fmt: skip


def test_a_group_with_the_name_of_its_port_is_named_in_the_profile():
    """Nova goes by the format in which Neutron answers, whatever a group is called."""
    group = {"id": "p1", "required": list(TRAITS), "resources": BANDWIDTH}
    port = parse_port(PLAIN | {"resource_request": {"request_groups": [group]}})
    assert port.profile_with({"p1": "a-provider"}) == {"allocation": {"p1": "a-provider"}}


def test_profile_and_revision_are_kept_to_write_them_again():
    row = PLAIN | {"binding:profile": {"pci_slot": "0000:81:00.1"}, "revision_number": 7}
    port = parse_port(row)
    assert (port.revision, port.pci_address) == (7, "0000:81:00.1")
    assert port.profile_with({"g": "a-provider"}) == {
        "pci_slot": "0000:81:00.1",
        "allocation": {"g": "a-provider"},
    }


@pytest.mark.parametrize("request_", [None, {}, {"request_groups": []}, {"required": ["A"]}])
def test_a_port_that_asks_for_nothing(request_):
    port = parse_port(PLAIN | {"resource_request": request_, "binding:profile": None})
    assert (port.request_groups, port.allocation) == ((), None)


@pytest.mark.parametrize(
    "row", [{}, {"id": 1}, PLAIN | {"resource_request": {"request_groups": [{"id": "g"}]}}, 7]
)
def test_what_is_no_port_is_no_answer(row):
    with pytest.raises(Unreachable):
        parse_port(row)


def pages(monkeypatch, rows_in_page, *pages_):
    monkeypatch.setattr(neutron, "PORTS_IN_PAGE", rows_in_page)
    fields = "&".join(f"fields={name}" for name in neutron.FIELDS)
    path = f"GET /v2.0/ports?{fields}&limit={rows_in_page}&sort_key=id&sort_dir=asc"
    replies, marker = {}, ""
    for rows in pages_:
        replies[path + marker] = Reply(200, {"ports": rows})
        marker = f"&marker={rows[-1]['id']}" if rows else ""
    return replies


def test_a_port_with_a_device_profile_has_a_device_of_cyborgs(monkeypatch):
    direct = PLAIN | {"id": "p1", "device_profile": "smart-nic"}
    with answering(pages(monkeypatch, 1000, [direct, PLAIN])) as url:
        [port] = Neutron(adapter_of(url)).ports()
    assert (port.id, port.device_profile) == ("p1", "smart-nic")


def asking(name: str) -> dict:
    request = {"required": [], "resources": BANDWIDTH}
    return PLAIN | {"id": name, "resource_request": request}


def test_ports_of_some_instances_are_asked_for_by_them(monkeypatch):
    monkeypatch.setattr(neutron, "DEVICES_IN_REQUEST", 2)
    [path] = pages(monkeypatch, 1000, [])
    replies = {
        f"{path}&device_id=a&device_id=b": Reply(200, {"ports": [asking("p1")]}),
        f"{path}&device_id=c": Reply(200, {"ports": [asking("p2")]}),
    }
    with answering(replies) as url:
        found = Neutron(adapter_of(url)).ports(devices=["c", "b", "a"])
        assert Neutron(adapter_of(url)).ports(devices=[]) == ()
    assert [port.id for port in found] == ["p1", "p2"]


def test_ports_are_looked_for_by_id_and_by_address(monkeypatch):
    monkeypatch.setattr(neutron, "FIELDS", ("id", "mac_address", "device_id"))
    [path] = pages(monkeypatch, 1000, [])
    here = {"id": "p1", "mac_address": "fa:16:3e:00:00:01", "device_id": "web"}
    there = {"id": "p2", "mac_address": "FA:16:3E:00:00:02", "device_id": "db"}
    replies = {
        f"{path}&id=p1&id=p3": Reply(200, {"ports": [here]}),
        f"{path}&mac_address=fa%3A16%3A3e%3A00%3A00%3A02": Reply(200, {"ports": [there]}),
    }
    with answering(replies) as url:
        found = Neutron(adapter_of(url)).listed(["p1", "p3", "fa:16:3e:00:00:02"])
    assert found == {("web", "p1"), ("db", "fa:16:3e:00:00:02")}


def test_pages_are_followed_to_the_end(monkeypatch):
    replies = pages(monkeypatch, 2, [asking("a"), PLAIN], [asking("c"), asking("d")], [])
    with answering(replies) as url:
        assert [one.id for one in Neutron(adapter_of(url)).ports()] == ["a", "c", "d"]


def test_a_neutron_that_does_not_page_gives_everything_at_once(monkeypatch):
    replies = pages(monkeypatch, 2, [asking("a"), asking("b"), asking("c")])
    with answering(replies) as url:
        assert len(Neutron(adapter_of(url)).ports()) == 3


def test_without_administrators_rights_ports_are_unreachable(monkeypatch):
    seen = {"id": "a", "device_id": "web", "device_owner": "compute:nova"}
    with answering(pages(monkeypatch, 2, [seen])) as url, pytest.raises(Unreachable) as silent:
        Neutron(adapter_of(url)).ports()
    assert "administrator" in silent.value.reason


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(401, {"error": {"message": "no"}}), AccessDenied),
        (Reply(403, {"NeutronError": {"message": "no"}}), AccessDenied),
        (Reply(500, "oh"), Unreachable),
        (Reply(200, {"ports": None}), Unreachable),
        (Reply(200, "<html>"), Unreachable),
    ],
)
def test_a_neutron_that_is_no_good(monkeypatch, reply, error):
    [path] = pages(monkeypatch, 2, [])
    with answering({path: reply}) as url, pytest.raises(error) as refused:
        Neutron(adapter_of(url)).ports()
    assert refused.value.source == "Neutron"
