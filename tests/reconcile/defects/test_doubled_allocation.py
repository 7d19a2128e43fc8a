# SPDX-License-Identifier: Apache-2.0
from tests.reconcile.defects.asking import guards, left_with, steps, verdicts
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import doubled_allocation, migration_residue
from trueup.reconcile.domain_definition import DomainIs

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
    moved = CLOUD.format("  live-migration of web from h1 to h2 error")
    assert verdicts(doubled_allocation, moved) == []
    assert len(verdicts(migration_residue, moved)) == 1
