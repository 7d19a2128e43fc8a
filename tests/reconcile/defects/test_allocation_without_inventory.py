# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

from tests.reconcile.defects.asking import found, verdicts
from tests.reconcile.planning import facts_of
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import allocation_without_inventory, reshape_incomplete

CLOUD = """
cell1
  host h1 VCPU=8
provider gpu of h1 {}
holds web h1 VCPU=1 VGPU=1
holds db h1 VCPU=1 VGPU=2
"""


def test_all_that_consumers_hold_of_the_class_is_summed():
    [row] = found(allocation_without_inventory, CLOUD.format("")).evidence["held"]
    assert row["resources"] == {"VGPU": 3}


def test_a_class_that_another_provider_of_the_tree_has_is_a_reshape_and_nothing_else():
    moved = CLOUD.format("VGPU=8")
    assert verdicts(allocation_without_inventory, moved) == []
    assert found(reshape_incomplete, moved).evidence["classes"][0]["name"] == "VGPU"


def test_a_provider_that_was_not_selected_is_not_judged():
    facts = facts_of(CLOUD.format(""))
    assert verdicts(allocation_without_inventory, facts)
    selected = replace(facts, providers_in_scope=frozenset({uuid_of("gpu")}))
    assert verdicts(allocation_without_inventory, selected) == []
