# SPDX-License-Identifier: Apache-2.0
from types import SimpleNamespace

import pytest
from osc_placement.resources.allocation import SetAllocation, parse_allocations

from tests.reconcile.defects.asking import declined, found, verdicts
from tests.scenarios.drafting import OWNER
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import ironic_legacy_allocation

CLOUD = """
cell1
  host node1 {} CUSTOM_GOLD=1
  server web on node1 VCPU=1 MEMORY_MB=64
holds web node1 {}
"""

WITHOUT_CLASS = CLOUD.format("hypervisor=ironic", "VCPU=8").replace("CUSTOM_GOLD=1", "VCPU=8")


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


def test_each_consumer_has_a_command_that_the_client_understands():
    """It replaces all that a consumer holds, so what is kept is named in it too."""
    cloud = CLOUD.format("hypervisor=ironic", "VCPU=8 CUSTOM_GOLD=1")
    words = declined(
        ironic_legacy_allocation,
        f"{cloud}provider pool DISK_GB=100 sharing\nholds web pool DISK_GB=9\n",
    )
    line = words.rsplit("`", 2)[1]
    program, _, version, *rest = line.split()
    assert (program, rest[:4]) == ("openstack", ["resource", "provider", "allocation", "set"])
    client = SimpleNamespace(placement=SimpleNamespace(api_version=version))
    command = SetAllocation(SimpleNamespace(client_manager=client), None)
    asked = command.get_parser("set").parse_args(rest[4:])
    assert (asked.uuid, asked.project_id, asked.user_id) == (uuid_of("web"), *OWNER.values())
    assert parse_allocations(asked.allocation) == {
        uuid_of("node1"): {"CUSTOM_GOLD": 1},
        uuid_of("pool"): {"DISK_GB": 9},
    }


def test_without_a_class_of_its_own_the_node_gets_one_first():
    words = declined(ironic_legacy_allocation, WITHOUT_CLASS)
    assert f"`openstack baremetal node set --resource-class CLASS {uuid_of('node1')}`" in words


@pytest.mark.parametrize(
    ("consumer", "owner"),
    [("web", "--project-id a-project --user-id a-user"), ("stray", "--project-id p --user-id u")],
)
def test_the_owner_is_whom_nova_names_or_else_whom_placement_names(consumer, owner):
    cloud = CLOUD.format("hypervisor=ironic", "VCPU=8")
    cloud = cloud.replace("holds web", f"holds {consumer}")
    words = declined(ironic_legacy_allocation, f"{cloud}owned {consumer} project=p user=u\n")
    assert owner in words


def test_a_consumer_that_holds_the_node_s_own_class_alone_has_no_command():
    cloud = CLOUD.format("hypervisor=ironic", "VCPU=8") + "holds right node1 CUSTOM_GOLD=1\n"
    words = declined(ironic_legacy_allocation, cloud)
    assert uuid_of("web") in words
    assert uuid_of("right") not in words
