# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from tests.reconcile.expected.asking import CELL, PLAIN, ROOT, facts, instance, provider
from trueup.reconcile.expected import Ambiguous, Known, Share, Unknown
from trueup.reconcile.expected.devices import device_parts
from trueup.reconcile.expected.host_providers import host_providers_of
from trueup.reconcile.facts import PCI_TRAIT, PciDevice, PciRequest
from trueup.reconcile.reasons import because

# The number of h1's compute node, which `asking.facts` gives.
NODE = 0
GPU = "CUSTOM_PCI_10DE_1DB6"
FIRST = provider("first", GPU, name="h1_0000:81:00.0")
SECOND = provider("second", GPU, name="h1_0000:82:00.0")
NETWORK_CARD = provider("nic", "CUSTOM_VF", name="h1_0000:0A:00.0")
PRODUCT = {"vendor_id": "10de", "product_id": "1db6"}


def request(count=1, **more):
    return PciRequest("r1", count, alias="gpu", specs=(more.pop("spec", PRODUCT),), **more)


def device(address, kind="type-PCI", **more):
    return PciDevice(CELL, NODE, address, "10de", "1db6", kind, "allocated", "web", "r1", **more)


def parts(asked, providers, devices=()):
    cloud = facts(PLAIN, *providers, pci_devices=tuple(devices))
    web = instance(pci_requests=asked)
    return list(device_parts(web, host_providers_of(ROOT, cloud), cloud))


def test_the_assigned_device_determines_the_provider():
    given = [device("0000:82:00.0"), device("0000:81:00.0")]
    assert parts((request(2),), (FIRST, SECOND), given) == [
        Known("PCI alias gpu", {GPU: 1}, "second"),
        Known("PCI alias gpu", {GPU: 1}, "first"),
    ]


def test_a_virtual_function_is_allocated_on_its_physical_function():
    virtual = device("0000:0a:01.3", "type-VF", parent_address="0000:0a:00.0")
    asked = request(spec={"resource_class": "vf"})
    assert parts((asked,), (NETWORK_CARD,), [virtual]) == [
        Known("PCI alias gpu", {"CUSTOM_VF": 1}, "nic")
    ]


def test_the_provider_that_nova_noted_with_the_device_comes_first():
    renamed = provider("renamed", GPU, name="h1_0000:83:00.0")
    given = [device("0000:81:00.0", provider="renamed"), device("0000:82:00.0", provider="gone")]
    assert [part.provider for part in parts((request(2),), (FIRST, SECOND, renamed), given)] == [
        "renamed",
        "second",
    ]


def test_a_device_that_another_host_still_has_assigned_is_not_counted():
    left = replace(device("0000:82:00.0"), compute_node=1)
    assert parts((request(),), (FIRST, SECOND), [left, device("0000:81:00.0")]) == [
        Known("PCI alias gpu", {GPU: 1}, "first")
    ]


def test_without_assigned_devices_any_provider_of_the_class_is_possible():
    assert parts((request(),), (FIRST, SECOND)) == [
        Ambiguous("PCI alias gpu", {GPU: 1}, ("first", "second"))
    ]
    assert parts((request(),), (FIRST,)) == [Known("PCI alias gpu", {GPU: 1}, "first")]


def test_a_device_without_a_provider_is_not_in_placement():
    assert parts((request(),), (FIRST,), [device("0000:99:00.0")]) == []


def test_an_assigned_device_is_of_the_class_of_its_provider():
    """Nova's compute looks at its own configuration of the device, not at the alias."""
    for specs in ((PRODUCT,), ({"resource_class": "a100"},), ()):
        asked = PciRequest("r1", 1, alias="gpu", specs=specs)
        other = provider("first", "CUSTOM_FAST_GPU", name="h1_0000:81:00.0")
        assert parts((asked,), (other,), [device("0000:81:00.0")]) == [
            Known("PCI alias gpu", {"CUSTOM_FAST_GPU": 1}, "first")
        ]


@pytest.mark.parametrize(
    "name", ["h1_amd_sev", "h1_pci_0000_84_00_0", "h1_0000:81:00", "x_0000:81:00.0"]
)
def test_children_of_other_names_are_no_pci_devices(name):
    assert parts((request(),), (replace(FIRST, name=name),), [device("0000:81:00.0")]) == []


def test_children_that_another_service_named_alike_are_no_pci_devices():
    marked, unmarked = frozenset({PCI_TRAIT}), frozenset({"OWNER_CYBORG"})
    given = [device("0000:81:00.0")]
    assert parts((request(),), (replace(FIRST, traits=unmarked),), given) == []
    assert len(parts((request(),), (replace(FIRST, traits=marked),), given)) == 1


def test_on_hosts_without_devices_in_placement_nothing_is_held():
    assert parts((request(),), ()) == []


def test_a_ports_device_is_not_in_placement():
    assert parts((request(requester="a-port"),), (FIRST,)) == []


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ({"resource_class": "VGPU"}, "VGPU"),
        ({"resource_class": "custom_a100"}, "CUSTOM_A100"),
        ({"resource_class": "a-100"}, "CUSTOM_A_100"),
        (PRODUCT, GPU),
    ],
)
def test_the_class_is_named_by_the_alias_or_made_of_the_product_id(spec, name):
    card = provider("card", name, name="h1_0000:81:00.0")
    assert parts((request(spec=spec),), (card,)) == [Known("PCI alias gpu", {name: 1}, "card")]


def test_an_alias_without_a_product_is_unknown():
    for specs in (({"dev_type": "type-PF"},), (), (PRODUCT, PRODUCT)):
        asked = PciRequest("r1", 1, alias="gpu", specs=specs)
        [part] = parts((asked,), (FIRST,))
        assert isinstance(part, Unknown)


def test_unreadable_pci_requests_are_unknown():
    assert parts(None, (FIRST,)) == [
        Unknown(because("pci-requests-unreadable"), frozenset({Share.DEVICES}))
    ]
