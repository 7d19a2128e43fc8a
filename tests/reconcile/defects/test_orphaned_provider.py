# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import declined, found, guards, reason, steps
from tests.scenarios.names import aggregate_of, uuid_of
from trueup.reconcile.defects import orphaned_provider
from trueup.reconcile.steps import CellFresh, NodeGone

CLOUD = """
cell1
  host h1 VCPU=8 traits={} aggregates=rack
  host h2 VCPU=8
{}
forget h1 {}
"""


def test_each_write_needs_node_and_service_gone_and_the_cell_fresh():
    made = steps(orphaned_provider, CLOUD.format("OWNER_NOVA", "", ""))
    assert guards(made, NodeGone) == [NodeGone(uuid_of("h1"), "h1", uuid_of("cell1"), "h1")]
    assert len(guards(made, CellFresh)) == 1


def test_what_is_deleted_can_be_made_again():
    [step] = steps(orphaned_provider, CLOUD.format("OWNER_NOVA", "", ""))
    [change] = step.changes
    assert (change.before.name, change.before.traits, change.before.aggregates) == (
        "h1", ("OWNER_NOVA",), (aggregate_of("rack"),),
    )  # fmt: skip
    assert change.before.inventories["VCPU"]["total"] == 8


@pytest.mark.parametrize("traits", ["", "CUSTOM_ZUN"])
def test_a_child_that_is_not_known_to_be_nova_s_keeps_the_tree(traits):
    child = f"provider nic of h1 NET_BW=10 traits={traits} aggregates="
    words = declined(orphaned_provider, CLOUD.format("OWNER_NOVA", child, ""))
    assert uuid_of("nic") in words


def test_a_service_that_is_there_brings_its_node_back():
    assert "is still there" in reason(orphaned_provider, CLOUD.format("", "", "service"))


def test_it_is_as_old_as_the_deleted_row():
    assert found(orphaned_provider, CLOUD.format("", "", "")).since is not None
