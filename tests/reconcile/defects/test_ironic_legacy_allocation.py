# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import declined, found, verdicts
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import ironic_legacy_allocation

CLOUD = """
cell1
  host node1 {} CUSTOM_GOLD=1
  server web on node1 VCPU=1 MEMORY_MB=64
holds web node1 {}
"""


@pytest.mark.parametrize(
    ("held", "legacy"),
    [
        ("VCPU=8", {"VCPU": 8}),
        ("CUSTOM_GOLD=1 MEMORY_MB=64", {"MEMORY_MB": 64}),
        ("DISK_GB=10 CUSTOM_GOLD=1", {"DISK_GB": 10}),
    ],
)
def test_only_classes_of_virtual_machines_are_old(held, legacy):
    one = found(ironic_legacy_allocation, CLOUD.format("hypervisor=ironic", held))
    assert one.evidence["held"][0]["resources"] == legacy


def test_a_node_with_its_own_class_alone_is_right():
    assert (
        verdicts(ironic_legacy_allocation, CLOUD.format("hypervisor=ironic", "CUSTOM_GOLD=1")) == []
    )


def test_a_host_of_virtual_machines_is_not_meant():
    assert verdicts(ironic_legacy_allocation, CLOUD.format("hypervisor=QEMU", "VCPU=8")) == []


def test_the_command_names_the_node():
    words = declined(ironic_legacy_allocation, CLOUD.format("hypervisor=ironic", "VCPU=8"))
    assert f"rp={uuid_of('node1')},CUSTOM_<class>=1" in words
