# SPDX-License-Identifier: Apache-2.0
"""A narrowed plan keeps a finding with all its steps, or not at all, and adds nothing."""

import pytest

from tests.reconcile.planning import planned
from trueup.reconcile.plan import LEFT_OUT, Direction, Only, Plan, direction_of, narrowed
from trueup.reconcile.steps import step_growth

# Of one host a release, a claim to give and one to move; another one is to be deleted after its
# last resources are released.
CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  host h2 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  host h3 VCPU=8 MEMORY_MB=8192 DISK_GB=100 traits=OWNER_NOVA aggregates=
  server old on h1 deleted=3600
  server gone on h3 deleted=3600
  server web on h1 VCPU=2 MEMORY_MB=256 DISK_GB=6
  server db on h1 VCPU=1 MEMORY_MB=128
holds old h1 VCPU=2 MEMORY_MB=256 DISK_GB=6
holds gone h3 VCPU=2 MEMORY_MB=256
holds db h2 VCPU=1 MEMORY_MB=128
forget h3
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    return planned(CLOUD)


def defects(plan: Plan) -> list[str]:
    return sorted(row.defect for row in plan.findings)


def test_without_an_option_it_is_the_same(plan):
    assert narrowed(plan, Only()) is plan


@pytest.mark.parametrize("direction", Direction)
def test_of_one_direction_nothing_goes_the_other_way(plan, direction):
    kept = narrowed(plan, Only(direction=direction))
    assert kept.steps
    for step in kept.steps:
        amounts = step_growth(step).values()
        assert all((amount > 0) == (direction is Direction.ADDS) for amount in amounts)


def test_what_is_moved_or_deleted_has_no_direction(plan):
    undirected = {
        reason.partition(":")[0]
        for step in plan.steps
        if direction_of(step) is None
        for reason in step.because
    }
    assert undirected == {"wrong-provider", "orphaned-provider"}


def test_what_is_left_out_is_declined_with_its_reason(plan):
    kept = narrowed(plan, Only(frozenset({"missing-allocation"})))
    assert defects(kept) == ["missing-allocation"]
    assert {one.reason for one in kept.declined} == {LEFT_OUT}
    every = [row.id for row in kept.findings] + [one.finding.id for one in kept.declined]
    assert sorted(every) == sorted(row.id for row in plan.findings)
    assert {one.step for one in kept.effects} == {step.id for step in kept.steps}


def test_a_step_is_not_kept_without_those_that_it_needs(plan):
    """The provider of h3 is deleted after what is held of it."""
    assert narrowed(plan, Only(frozenset({"orphaned-provider"}))).steps == ()
    both = narrowed(plan, Only(frozenset({"orphaned-provider", "orphaned-allocation"})))
    assert "orphaned-provider" in defects(both)


def test_it_is_another_plan_and_so_another_run(plan):
    assert narrowed(plan, Only(direction=Direction.ADDS)).id != plan.id
