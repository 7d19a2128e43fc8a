# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.reconcile.defects.asking import (
    declined,
    found,
    guards,
    left_with,
    reason,
    steps,
    verdicts,
)
from tests.reconcile.planning import facts_of
from tests.scenarios.drafting import NOW
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import migration_residue, missing_allocation, wrong_provider
from trueup.reconcile.steps import MigrationState, ServiceDown
from trueup.reconcile.verdicts import Severity

LOST = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 MEMORY_MB=8192
  server web on h1 VCPU=2 MEMORY_MB=256
  migration of web from h1 to h2 {}
holds migration-of-web h1 VCPU=2 MEMORY_MB=256
"""


@pytest.mark.parametrize("status", ["error", "failed", "cancelled", "reverted"])
def test_the_claim_of_a_failed_move_goes_back_to_its_instance_in_one_step(status):
    """One request changes both consumers, so at no moment is the claim nobody's."""
    made = steps(migration_residue, LOST.format(status))
    assert len(made) == 1
    after = left_with(made)
    assert after[uuid_of("migration-of-web")] is None
    own = after[uuid_of("web")]
    assert own is not None
    assert own.amounts == {uuid_of("h1"): {"VCPU": 2, "MEMORY_MB": 256}}
    assert [one.status for one in guards(made, MigrationState)] == [status]


UNDER_WAY = (
    "accepted", "queued", "preparing", "running", "pre-migrating", "migrating", "post-migrating",
    "finished", "reverting", "confirming",
)  # fmt: skip


@pytest.mark.parametrize("status", UNDER_WAY)
def test_a_move_under_way_is_never_touched(status):
    assert verdicts(migration_residue, LOST.format(status)) == []


def test_no_other_defect_is_about_a_claim_that_a_migration_holds():
    for other in (missing_allocation, wrong_provider):
        assert verdicts(other, LOST.format("error")) == []


def test_a_claim_in_the_wrong_hands_is_worse_than_one_too_many():
    assert found(migration_residue, LOST.format("error")).severity is Severity.HIGH
    twice = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 MEMORY_MB=8192
  server web on h1 VCPU=2 MEMORY_MB=256
  live-migration of web from h1 to h2 failed
holds web h1 VCPU=2 MEMORY_MB=256
holds web h2 VCPU=2 MEMORY_MB=256
"""
    assert found(migration_residue, twice).severity is Severity.MEDIUM


def test_what_is_on_the_move_by_now_has_no_step():
    cloud = LOST.format("error")
    moving = cloud.replace("server web on h1", "server web on h1 task=migrating")
    assert "no longer settled" in declined(migration_residue, cloud, moving)


@pytest.mark.parametrize(("ago", "may_pass"), [(59, True), (60, False)])
def test_what_ended_within_a_minute_may_be_released_at_any_moment(ago, may_pass):
    facts = facts_of(LOST.format("error"))
    moment = NOW - timedelta(seconds=ago)
    moves = tuple(replace(row, updated_at=moment) for row in facts.migrations)
    finding = found(migration_residue, replace(facts, migrations=moves))
    assert finding.may_pass_within == (10 if may_pass else 0)
    assert finding.since == moment


def test_a_host_that_it_was_evacuated_from_may_run_it_also_if_nothing_is_held_of_it():
    cloud = LOST.format("error") + "  host h3 VCPU=8 MEMORY_MB=8192 {}\n"
    cloud += "  evacuation of web from h3 to h1 done\n"
    assert "evacuated from h3, which is up" in reason(migration_residue, cloud.format("up"))
    made = steps(migration_residue, cloud.format(""))
    assert [one.host for one in guards(made, ServiceDown)] == ["h3"]
