# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import declined, guards, left_with, steps, verdicts
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import missing_allocation
from trueup.reconcile.facts import InstanceState
from trueup.reconcile.steps import CellFresh, MigrationState

CLOUD = """
cell1
  host h1 VCPU=8 PCPU=8 MEMORY_MB=8192 DISK_GB=100
  server web on h1 {} VCPU=2 MEMORY_MB=256 DISK_GB=4
"""


@pytest.mark.parametrize(
    ("words", "amounts"),
    [
        ("", {"VCPU": 2, "MEMORY_MB": 256, "DISK_GB": 4}),
        ("pinned", {"PCPU": 2, "MEMORY_MB": 256, "DISK_GB": 4}),
        ("volume", {"VCPU": 2, "MEMORY_MB": 256}),
        ("swap=512", {"VCPU": 2, "MEMORY_MB": 256, "DISK_GB": 5}),
        ("volume swap=1025", {"VCPU": 2, "MEMORY_MB": 256, "DISK_GB": 2}),
        ("state=soft-delete", {"VCPU": 2, "MEMORY_MB": 256, "DISK_GB": 4}),
        ("state=error", {"VCPU": 2, "MEMORY_MB": 256, "DISK_GB": 4}),
    ],
)
def test_the_whole_of_it_is_allocated_for_its_own_project_and_user(words, amounts):
    after = left_with(steps(missing_allocation, CLOUD.format(words)))[uuid_of("web")]
    assert after is not None
    assert after.amounts == {uuid_of("h1"): amounts}
    assert (after.project, after.user) == ("a-project", "a-user")


def test_the_instance_and_its_cell_are_read_again_before_the_write():
    made = steps(missing_allocation, CLOUD.format(""))
    [state] = guards(made, InstanceState)
    assert (state.host, state.vm_state, state.task_state, state.deleted) == (
        "h1", "active", None, False,
    )  # fmt: skip
    assert len(guards(made, CellFresh)) == 1


@pytest.mark.parametrize("words", ["state=building", "task=spawning", "hidden", "deleted=9999"])
def test_what_is_coming_or_going_misses_nothing(words):
    assert verdicts(missing_allocation, CLOUD.format(words)) == []


def test_a_move_that_waits_gets_back_the_claim_it_lost_and_keeps_waiting():
    cloud = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 MEMORY_MB=8192
  server web on h2 state=resized old-VCPU=1 VCPU=2 MEMORY_MB=256
  resize of web from h1 to h2 finished
holds web h2 VCPU=2 MEMORY_MB=256
"""
    made = steps(missing_allocation, cloud)
    after = left_with(made)
    assert after.keys() == {uuid_of("resize-of-web")}
    [held] = after.values()
    assert held is not None
    assert held.amounts == {uuid_of("h1"): {"VCPU": 1, "MEMORY_MB": 256}}
    assert [one.status for one in guards(made, MigrationState)] == ["finished"]


def test_what_moves_or_is_no_longer_certain_by_now_has_no_step():
    cloud = CLOUD.format("")
    assert "is not known" in declined(missing_allocation, cloud, CLOUD.format("task=migrating"))
    cards = "provider gpu of h1 VGPU=8\nprovider gpu2 of h1 VGPU=8\n"
    unsure = CLOUD.format("resources:VGPU=1") + cards
    assert "is not known" in declined(missing_allocation, cloud, unsure)
