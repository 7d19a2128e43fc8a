# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import verdicts
from trueup.reconcile.defects import ironic_reserved_left
from trueup.reconcile.verdicts import Finding

CLOUD = """
cell1
  host node1 hypervisor={} reserved={} CUSTOM_GOLD=1 {}
{}
"""


@pytest.mark.parametrize(
    ("hypervisor", "reserved", "service", "more", "left"),
    [
        ("ironic", 1, "", "", True),
        ("ironic", 0, "", "", False),
        ("ironic", 1, "up", "", False),
        ("QEMU", 1, "", "", False),
        ("ironic", 1, "", "holds web node1 CUSTOM_GOLD=1", False),
        ("ironic", 1, "", "holds container node1 CUSTOM_GOLD=1", False),
    ],
)
def test_only_a_free_node_whose_nova_compute_is_down_is_left_reserved(
    hypervisor, reserved, service, more, left
):
    cloud = CLOUD.format(hypervisor, reserved, service, more)
    assert bool(verdicts(ironic_reserved_left, cloud)) is left


@pytest.mark.parametrize(
    ("seen", "peer", "left"),
    [
        ("seen=599", "hypervisor=ironic up", False),
        ("seen=600", "hypervisor=ironic up", True),
        ("seen=599", "hypervisor=ironic", True),
        ("seen=599", "hypervisor=QEMU up", True),
    ],
)
def test_a_peer_that_is_up_takes_the_node_over_soon_or_never(seen, peer, left):
    more = f"  host node2 CUSTOM_GOLD=1 compute=c2 {peer}"
    cloud = CLOUD.format("ironic", 1, f"compute=c1 {seen}", more)
    told = verdicts(ironic_reserved_left, cloud)
    assert [isinstance(one, Finding) for one in told] == [left]


def test_a_node_with_an_instance_is_reserved_rightly_also_if_it_holds_nothing():
    cloud = CLOUD.format("ironic", 1, "", "  server web on node1 VCPU=1 MEMORY_MB=64")
    assert verdicts(ironic_reserved_left, cloud) == []
