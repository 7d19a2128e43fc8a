# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import declined, found, reason, verdicts
from trueup.reconcile.defects import ironic_node_without_provider, missing_provider

CLOUD = """
cell1
  host node1 hypervisor={} without-provider {}
  host node2 hypervisor=ironic CUSTOM_GOLD=1 {}
"""


@pytest.mark.parametrize(("hypervisor", "of_ironic"), [("ironic", True), ("QEMU", False)])
def test_of_both_defects_exactly_one_is_about_it(hypervisor, of_ironic):
    cloud = CLOUD.format(hypervisor, "up", "up")
    assert bool(verdicts(ironic_node_without_provider, cloud)) is of_ironic
    assert bool(verdicts(missing_provider, cloud)) is not of_ironic


def test_nodes_may_be_changing_hands_soon_after_a_nova_compute_of_ironic_went_down():
    """The one that is up may be taking over the other's nodes."""
    cloud = CLOUD.format("ironic", "up", "seen=599")
    assert "node2 is down" in reason(ironic_node_without_provider, cloud)
    for later in ("up", "seen=600", ""):
        assert found(ironic_node_without_provider, CLOUD.format("ironic", "up", later))


def test_nova_compute_makes_the_provider_and_nobody_else():
    words = declined(ironic_node_without_provider, CLOUD.format("ironic", "up", "up"))
    assert "restart the nova-compute of node1" in words


def test_hosts_of_virtual_machines_and_of_other_cells_take_no_node_over():
    others = "  host h1 VCPU=8\ncell2\n  host node3 hypervisor=ironic CUSTOM_GOLD=1\n"
    assert found(ironic_node_without_provider, CLOUD.format("ironic", "up", "up") + others)


def test_of_two_nodes_with_one_uuid_nothing_is_said():
    """The audit says that neither can be checked."""
    twice = CLOUD.format("ironic", "up uuid=same", "up")
    twice += "  host node3 hypervisor=ironic without-provider up uuid=same\n"
    assert verdicts(ironic_node_without_provider, twice) == []
