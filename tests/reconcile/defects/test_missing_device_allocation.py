# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import declined, found, left_with, steps
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import missing_device_allocation

CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  server web on h1 {} VCPU=2 MEMORY_MB=256
{}
holds web h1 VCPU=2 MEMORY_MB=256
"""
OWN = {"VCPU": 2, "MEMORY_MB": 256}


def test_one_card_of_the_host_is_known_and_allocated():
    cloud = CLOUD.format("resources:VGPU=1", "provider gpu of h1 VGPU=8")
    after = left_with(steps(missing_device_allocation, cloud))[uuid_of("web")]
    assert after is not None
    assert after.amounts == {uuid_of("h1"): OWN, uuid_of("gpu"): {"VGPU": 1}}


@pytest.mark.parametrize("cards", [2, 4])
def test_of_several_cards_none_is_guessed_and_each_is_a_choice(cards):
    rows = "\n".join(f"provider gpu{number} of h1 VGPU=8" for number in range(cards))
    cloud = CLOUD.format("resources:VGPU=1", rows)
    choices = found(missing_device_allocation, cloud).evidence["choices"]
    assert {row["name"] for row in choices} == {f"gpu{number}" for number in range(cards)}
    assert "may come from any of" in declined(missing_device_allocation, cloud)


def test_what_cyborg_allocates_is_left_to_cyborg():
    cloud = CLOUD.format("accel:device_profile=fpga", "provider fpga of h1 FPGA=1")
    [row] = found(missing_device_allocation, cloud).evidence["missing"]
    assert row["allocated_by"] == "Cyborg"
    assert "accelerator arq list" in declined(missing_device_allocation, cloud)


def test_a_device_for_one_use_is_reserved_and_placement_would_refuse_it():
    """Its inventory stays reserved after Nova has used it."""
    rows = (
        "provider h1_0000:82:00.0 of h1 CUSTOM_GPU=1 {}\n"
        "assigned 0000:82:00.0 on h1 for web class=CUSTOM_GPU"
    )
    once = CLOUD.format("", rows.format("traits=COMPUTE_MANAGED_PCI_DEVICE,HW_PCI_ONE_TIME_USE"))
    assert "one-time use only" in declined(missing_device_allocation, once)
    assert steps(missing_device_allocation, CLOUD.format("", rows.format("")))


def test_what_is_on_the_move_by_now_has_no_step():
    cloud = CLOUD.format("resources:VGPU=1", "provider gpu of h1 VGPU=8")
    moving = CLOUD.format("task=migrating resources:VGPU=1", "provider gpu of h1 VGPU=8")
    assert "no longer settled" in declined(missing_device_allocation, cloud, moving)
