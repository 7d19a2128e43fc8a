# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

from tests.reconcile.defects.asking import guards, left_with, reason, steps, verdicts
from tests.reconcile.planning import facts_of
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import doubled_allocation, migration_residue
from trueup.reconcile.steps import DomainIs

CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 MEMORY_MB=8192
  server web on h1 VCPU=2 MEMORY_MB=256
{}
holds web h1 VCPU=2 MEMORY_MB=256
holds web h2 VCPU=2 MEMORY_MB=256
"""
RIGHT = {uuid_of("h1"): {"VCPU": 2, "MEMORY_MB": 256}}


def test_the_other_host_must_still_not_run_the_guest_at_the_write():
    made = steps(doubled_allocation, CLOUD.format("hypervisor h1\nhypervisor h2"))
    assert guards(made, DomainIs) == [DomainIs("h2", uuid_of("web"), None)]
    held = left_with(made)[uuid_of("web")]
    assert held is not None
    assert held.amounts == RIGHT


def test_owner_and_type_stay_as_they_were():
    [step] = steps(doubled_allocation, CLOUD.format(""))
    before = step.changes[0].before.by_consumer[uuid_of("web")]
    after = left_with([step])[uuid_of("web")]
    assert (before.project, before.user, before.consumer_type) == (
        after.project, after.user, after.consumer_type,
    )  # fmt: skip


def test_a_move_that_names_the_other_host_makes_it_a_residue_of_that_move():
    moved = CLOUD.format("  live-migration of web from h1 to h2 failed")
    assert verdicts(doubled_allocation, moved) == []
    assert len(verdicts(migration_residue, moved)) == 1


def test_devices_of_its_own_host_that_nothing_asks_for_are_no_reason_to_leave_it_alone():
    """Only what would be released on the other host has to be explained."""
    own = CLOUD.format("").replace("holds web h1 ", "holds web h1 CUSTOM_FPGA=1 ")
    own = own.replace("host h1 VCPU=8", "host h1 VCPU=8 CUSTOM_FPGA=2")
    held = left_with(steps(doubled_allocation, own))[uuid_of("web")]
    assert held is not None
    assert held.amounts.keys() == RIGHT.keys()


def test_a_device_of_the_other_host_that_may_be_asked_for_in_an_unknown_request_is_kept():
    facts = facts_of(CLOUD.format("").replace("holds web h2 ", "holds web h2 CUSTOM_FPGA=1 "))
    unread = replace(facts, instances=(replace(facts.instances[0], pci_requests=None),))
    assert "CUSTOM_FPGA" in reason(doubled_allocation, unread)
