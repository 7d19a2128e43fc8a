# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import declined, found, guards, left_with, steps
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import evacuation_residue
from trueup.reconcile.facts import InstanceState
from trueup.reconcile.steps import CellFresh, DomainIs, MigrationState, ServiceDown

CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 MEMORY_MB=8192
  server web on h2 VCPU=2 MEMORY_MB=256
  evacuation of web from h1 {}
{}
holds web h1 VCPU=2 MEMORY_MB=256
holds web h2 VCPU=2 MEMORY_MB=256
holds web pool DISK_GB=6
provider pool DISK_GB=100 sharing
"""


def test_every_condition_is_read_again_before_the_write():
    shut_off = "guest web on h1 shut off\nguest web on h2 running"
    made = steps(evacuation_residue, CLOUD.format("done", shut_off))
    assert [one.host for one in guards(made, ServiceDown)] == ["h1"]
    assert guards(made, DomainIs) == [DomainIs("h1", uuid_of("web"), "shut off")]
    assert [one.status for one in guards(made, MigrationState)] == ["done"]
    assert [one.host for one in guards(made, InstanceState)] == ["h2"]
    assert len(guards(made, CellFresh)) == 1


def test_where_a_hypervisor_has_no_domain_it_may_report_and_must_still_have_none():
    made = steps(evacuation_residue, CLOUD.format("done", "hypervisor h1\nguest web on h2 running"))
    assert guards(made, ServiceDown) == []
    assert guards(made, DomainIs) == [DomainIs("h1", uuid_of("web"), None)]


def test_a_host_that_came_back_and_cleaned_up_may_report():
    """Status `completed`: nova-compute of the source has seen to the guest itself."""
    made = steps(evacuation_residue, CLOUD.format("completed", ""))
    assert guards(made, ServiceDown) == []


@pytest.mark.parametrize("status", ["done", "completed"])
def test_only_the_host_that_it_left_is_released(status):
    after = left_with(steps(evacuation_residue, CLOUD.format(status, "")))[uuid_of("web")]
    assert after is not None
    assert after.amounts == {
        uuid_of("h2"): {"VCPU": 2, "MEMORY_MB": 256}, uuid_of("pool"): {"DISK_GB": 6},
    }  # fmt: skip


def test_the_evidence_says_when_the_source_was_last_seen():
    [row] = found(evacuation_residue, CLOUD.format("done", "")).evidence["evacuation"]
    assert row["last_seen"] == "2026-11-21 11:00:00"
    assert row["forced_down"] == "yes"


def test_what_is_on_the_move_by_now_has_no_step():
    cloud = CLOUD.format("done", "")
    moving = cloud.replace("server web on h2", "server web on h2 task=migrating")
    assert "no longer settled" in declined(evacuation_residue, cloud, moving)


def test_the_target_of_a_failed_evacuation_must_still_not_run_the_guest_at_the_write():
    cloud = CLOUD.format("error", "hypervisor h1\nhypervisor h2")
    failed = cloud.replace("server web on h2", "server web on h1").replace(
        "from h1 error", "from h1 to h2 error"
    )
    made = steps(evacuation_residue, failed)
    assert DomainIs("h2", uuid_of("web"), None) in guards(made, DomainIs)
