# SPDX-License-Identifier: Apache-2.0
"""Providers are deleted after what is held of them is released, all of a tree or none."""

from tests.reconcile.planning import facts_of, planned
from tests.scenarios.names import uuid_of
from trueup.reconcile.plan import after_release, removed_by
from trueup.reconcile.report.reasons import in_words

TREE = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192 traits=OWNER_NOVA aggregates=
  host h2 VCPU=8 MEMORY_MB=8192
  server old on h2 deleted=3600
provider gpu of h1 VGPU=8 traits=OWNER_NOVA aggregates=
forget h1
"""
HELD = "holds old h1 VCPU=2 MEMORY_MB=256\nholds old gpu VGPU=1\n"
STRANGE = "holds container gpu VGPU=1\n"


def test_a_tree_is_deleted_from_below_after_what_is_held_is_released():
    plan = planned(TREE + HELD)
    release, gpu, h1 = plan.steps
    assert [removed_by(step) for step in plan.steps] == [None, uuid_of("gpu"), uuid_of("h1")]
    assert gpu.needs == (release.id,)
    assert h1.needs == (gpu.id, release.id)
    assert {one.defect for one in plan.findings} == {"orphaned-allocation", "orphaned-provider"}


def test_what_no_step_releases_keeps_the_whole_tree():
    plan = planned(TREE + HELD + STRANGE)
    assert [removed_by(step) for step in plan.steps] == [None]
    [declined] = plan.declined
    assert declined.finding.defect == "orphaned-provider"
    assert f"consumer {uuid_of('container')} holds resources of gpu" in in_words(declined.reason)


def test_a_step_that_leaves_something_there_releases_nothing():
    plan = planned(TREE + HELD)
    release, *removals = plan.steps
    kept = after_release(removals, (), facts_of(TREE + HELD))
    assert kept.steps == ()
    assert {one.step.id for one in kept.in_use} == {step.id for step in removals}
    assert after_release(removals, (release,), facts_of(TREE + HELD)).in_use == ()


GHOST = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  server old on h1 deleted=3600 archived
guest old on h1 shut off
holds old h1 VCPU=2 MEMORY_MB=256
"""


def test_what_a_deleted_instance_holds_stays_while_its_domain_is_defined():
    """No step of the plan removes it, as where its definition was not read."""
    plan = planned(GHOST)
    assert plan.steps == ()
    [reason] = [
        in_words(row.reason) for row in plan.declined if row.finding.defect == "orphaned-allocation"
    ]
    assert reason.startswith("its domain stays defined on h1, and could be started: its definition")


def test_two_steps_of_which_one_relies_on_what_the_other_writes_conflict():
    """Its migration's claim is too much, and its own is of another project."""
    plan = planned(
        "cell1\n  host h1 VCPU=8 MEMORY_MB=8192\n  server web on h1 VCPU=2 MEMORY_MB=256\n"
        "  resize of web from h1 error\nholds web h1 VCPU=2 MEMORY_MB=256\n"
        "holds resize-of-web h1 VCPU=2 MEMORY_MB=256\nowned web project=other\n"
    )
    assert len(plan.steps) == 1
