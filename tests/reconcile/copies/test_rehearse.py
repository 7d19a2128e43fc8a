# SPDX-License-Identifier: Apache-2.0
"""A rehearsal applies the plan to a copy, and the cloud stays as it is."""

from dataclasses import replace

import pytest
from msgspec import structs

from tests.reconcile.steps.test_steps import CHANGES
from trueup.lab.embedded import embedded_placement
from trueup.reconcile.collect import collect
from trueup.reconcile.copies import ledger_copy
from trueup.reconcile.copies.rehearse import Rehearsal, rehearse
from trueup.reconcile.reasons import because
from trueup.reconcile.report.rehearsals import rehearsal_table
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import AgentsDown, Change, Held, step_of
from trueup.reconcile.verdicts import Subject, Unchecked

WRONG = "wrong-provider"


def quiet(*_: object) -> None:
    pass


def rehearsed(small, plan, folder) -> Rehearsal:
    facts = collect(small.cloud, quiet)
    with embedded_placement(folder) as placement:
        copy = ledger_copy.read(small.cloud, quiet)
        ledger_copy.write(copy, Cloud(small.cloud.nova, placement), quiet)
        return rehearse(plan, facts, placement, folder / "journal")


def test_a_good_plan_leaves_nothing_and_the_cloud_is_not_touched(on_both, tmp_path):
    plan, before = on_both.plan(), on_both.rows()
    shown = rehearsed(on_both, plan, tmp_path)
    assert [outcome.result for _, outcome in shown.outcomes] == ["done"] * 4
    assert (shown.left, shown.new) == ((), ())
    assert shown.succeeded
    assert on_both.rows() == before
    assert {row.resource_class for row in shown.usage} == {"VCPU", "MEMORY_MB", "DISK_GB"}
    assert all(row.before != row.after <= row.capacity for row in shown.usage)


def test_an_instance_that_moved_since_is_refused_in_the_rehearsal_too(small, tmp_path):
    plan = small.plan()
    small.change_instance("wrong-provider", task_state="migrating")
    shown = rehearsed(small, plan, tmp_path)
    assert sorted(outcome.result for _, outcome in shown.outcomes) == ["done"] * 3 + ["refused"]
    assert not shown.succeeded


def test_a_finding_that_is_left_is_named(small, tmp_path):
    """The plan says that it remedies four, and has three steps."""
    plan = small.plan()
    shown = rehearsed(small, replace(plan, steps=plan.steps[:3]), tmp_path)
    assert len(shown.left) == 1
    assert not shown.succeeded


def test_a_finding_that_a_plan_makes_is_named(small, tmp_path):
    """The step of a missing allocation, backwards: it takes a healthy one away."""
    plan = small.plan("missing-allocation")
    small.apply(plan)
    [step] = plan.steps
    [change] = step.changes
    back = structs.replace(change, before=change.after, after=change.before)
    harmful = replace(plan, steps=(structs.replace(step, changes=(back,)),), findings=())
    shown = rehearsed(small, harmful, tmp_path)
    assert [row.defect for row in shown.new] == ["missing-allocation"]
    _, rows = rehearsal_table(shown)
    assert (
        "finding",
        small.consumer("missing-allocation"),
        "",
        "",
        "new: missing-allocation",
    ) in rows


def test_an_amount_that_a_plan_makes_wrong_is_named(small, tmp_path):
    """It gives an instance less than it should hold."""
    plan = small.plan("wrong-provider")
    [step] = plan.steps
    [change], [consumer] = step.changes, step.consumers
    right = change.after.by_consumer[consumer]
    less = {
        uuid: {name: amount - (name == "MEMORY_MB") for name, amount in row.items()}
        for uuid, row in right.amounts.items()
    }
    after = Held({consumer: replace(right, amounts=less)})
    steps = (structs.replace(step, changes=(structs.replace(change, after=after),)),)
    shown = rehearsed(small, replace(plan, steps=steps), tmp_path)
    assert [row.id for row in shown.new] == [f"wrong-amount:{consumer}"]
    assert not shown.succeeded
    _, rows = rehearsal_table(shown)
    assert ("finding", consumer, "", "", "new: wrong-amount") in rows


def test_what_cannot_be_checked_any_more_is_named(small, tmp_path):
    shown = rehearsed(small, small.plan("wrong-provider"), tmp_path)
    assert shown.succeeded
    subject = Subject("instance", small.consumer(WRONG))
    shown = replace(shown, unchecked=(Unchecked(subject, "h1", because("claim-unknown")),))
    assert not shown.succeeded
    _, rows = rehearsal_table(shown)
    assert ("could not check", subject.uuid) in [row[:2] for row in rows]


def test_a_cell_that_is_silent_is_named(small, tmp_path):
    plan = small.plan("wrong-provider")
    silent = next(name for name in ("cell1", "cell2") if name != small.planted[WRONG].cell)
    (small.folder / f"nova_{silent}.sqlite").unlink()
    shown = rehearsed(small, plan, tmp_path)
    assert [answer.source for answer in shown.missing] == [silent]
    _, rows = rehearsal_table(shown)
    assert ("could not check", silent) in [row[:2] for row in rows]


@pytest.mark.parametrize(
    ("kind", "noun"),
    [("port-binding", "binding profile and revision"), ("domain", "domain definitions")],
)
def test_what_is_not_copied_is_not_rehearsed_and_named_and_the_rest_is_rehearsed(
    small, tmp_path, kind, noun
):
    """No Neutron is asked here; and a domain is defined only to give back a removed one."""
    plan = small.plan()
    target, state = CHANGES[kind]
    first, second, *others = plan.steps
    outside = step_of((Change(target, None, state, {}),), (), first.because)
    needing = structs.replace(second, needs=(outside.id,))
    shown = rehearsed(small, replace(plan, steps=(outside, needing, *others)), tmp_path)
    assert [(one.step.id, one.reason) for one in shown.left_out] == [
        (outside.id, f"a rehearsal has no copy of the {noun}"),
        (needing.id, f"it needs {outside.id}, which is not rehearsed"),
    ]
    assert {step.id for step, _ in shown.outcomes} == {step.id for step in others}
    assert shown.succeeded
    assert not shown.complete
    assert {one.id for one in shown.unjudged} == {*first.because, *second.because}
    _, rows = rehearsal_table(shown)
    assert f"not rehearsed: a rehearsal has no copy of the {noun}" in [row[-1] for row in rows]
    assert sum(row[-1].startswith("not judged: ") for row in rows) == 2


def test_what_a_copy_cannot_know_is_left_to_apply(small, tmp_path):
    """A copy has no network agents, and whether they are alive is read again before each write."""
    plan = small.plan(WRONG)
    [step] = plan.steps
    guarded = structs.replace(step, guards=(*step.guards, AgentsDown("compute-01")))
    shown = rehearsed(small, replace(plan, steps=(guarded,)), tmp_path)
    assert shown.succeeded
    assert shown.complete
