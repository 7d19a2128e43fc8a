# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reconcile.defects.asking import declined, found, verdicts
from tests.reconcile.planning import facts_of
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import overcommitted_inventory
from trueup.reconcile.facts import Inventory

CLOUD = "cell1\n  host h1 {} VCPU=8\nholds web h1 VCPU={}\nholds db h1 VCPU=1\n"


@given(
    total=st.integers(0, 64),
    reserved=st.integers(0, 64),
    sixteenths=st.integers(1, 64),
    used=st.integers(1, 200),
)
def test_it_is_found_exactly_when_placement_would_refuse_the_same_again(
    total, reserved, sixteenths, used
):
    """Placement's rule: used <= int((total - reserved) * allocation_ratio)."""
    facts = facts_of(CLOUD.format("", used))
    row = facts.providers[uuid_of("h1")]
    stock = {"VCPU": Inventory(total, reserved, sixteenths / 16)}
    providers = {row.uuid: replace(row, inventories=stock)}
    over = used + 1 > (total - reserved) * sixteenths // 16 if total >= reserved else True
    assert bool(verdicts(overcommitted_inventory, replace(facts, providers=providers))) is over


@pytest.mark.parametrize(
    ("words", "over"),
    [("reserved=8", True), ("hypervisor=ironic reserved=8", False),
     ("traits=HW_PCI_ONE_TIME_USE reserved=8", False)],
)  # fmt: skip
def test_what_nova_reserves_because_it_is_in_use_is_not_over(words, over):
    assert bool(verdicts(overcommitted_inventory, CLOUD.format(words, 7))) is over


@pytest.mark.parametrize(
    ("total", "reserved", "over"), [(2, 2, False), (3, 3, False), (2, 1, True), (1, 1, True)]
)
def test_a_device_that_an_operator_drains_is_not_over(total, reserved, over):
    """Two of it are in use; of a provider without a parent, all of it is never reserved rightly."""
    child = f"provider fpga of h1 FPGA={total} reserved={reserved}\nholds app fpga FPGA=2\n"
    assert bool(verdicts(overcommitted_inventory, CLOUD.format("", 7) + child)) is over


def test_what_instances_hold_is_never_lowered():
    cloud = CLOUD.format("", 9)
    [row] = found(overcommitted_inventory, cloud).evidence["classes"]
    assert (row["used"], row["capacity"]) == (10, 8)
    assert "move instances away" in declined(overcommitted_inventory, cloud)


def test_only_selected_providers_are_judged():
    facts = facts_of(CLOUD.format("", 9))
    assert found(overcommitted_inventory, facts)
    assert verdicts(overcommitted_inventory, replace(facts, providers_in_scope=frozenset())) == []
