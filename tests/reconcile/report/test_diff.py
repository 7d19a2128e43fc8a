# SPDX-License-Identifier: Apache-2.0
"""A plan as a diff says what goes, what comes, what stays, and why."""

from dataclasses import replace

from msgspec import structs

from tests.reconcile.planning import planned
from tests.reconcile.steps.test_steps import CHANGES, GUARDS
from trueup.reconcile.plan import NotPlanned
from trueup.reconcile.reasons import because
from trueup.reconcile.report.diff import plan_diff
from trueup.reconcile.steps import Change, step_of

RESIDUE = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  host h2 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  server web on h2 VCPU=2 MEMORY_MB=256 DISK_GB=6
  evacuation of web from h1 done
holds web h1 VCPU=2 MEMORY_MB=256 DISK_GB=6
holds web h2 VCPU=2 MEMORY_MB=256 DISK_GB=6
"""


def texts(plan, kind: str) -> list[str]:
    return [line.text for line in plan_diff(plan) if line.kind == kind]


def test_what_goes_what_comes_and_what_stays():
    plan = planned(RESIDUE)
    assert texts(plan, "removed") == ["  - h1: VCPU=2 MEMORY_MB=256 DISK_GB=6"]
    assert texts(plan, "added") == []
    assert [line.split(": ")[1] for line in texts(plan, "kept")] == [
        "VCPU=2 MEMORY_MB=256 DISK_GB=6"
    ]


def test_cells_are_in_order():
    plan = replace(planned(RESIDUE), cells=("c", "a", "b"), names={"c": "cell0"})
    assert any(text.endswith("in cells a, b, cell0") for text in texts(plan, "note"))


def test_evidence_effects_and_guards_are_notes():
    notes = "\n".join(texts(planned(RESIDUE), "note"))
    assert "evacuation: status done, source host h1" in notes
    assert "h1: VCPU used 2 -> 0 of 8" in notes
    assert "VCPU -2" in notes
    assert "on host h2, active, without a task, not deleted, not moving" in notes


def test_what_was_declined_comes_last():
    plan = planned()
    plan = replace(plan, declined=(NotPlanned(plan.findings[0], because("holding-not-read")),))
    assert (
        list(plan_diff(plan))[-1].text
        == f"no step for {plan.findings[0].id}: what it holds was not read again"
    )


def test_steps_of_every_kind_and_every_guard_can_be_shown():
    for kind, (target, state) in CHANGES.items():
        step = step_of((Change(target, None, state, {}),), GUARDS, ("why",), needs=("another",))
        shown = [line.text for line in plan_diff(replace(planned(), steps=(step,)))]
        assert any(line.startswith("  + ") for line in shown), kind
        assert "  after: another" in shown
        back = structs.replace(step, changes=(Change(target, state, None, {}),))
        assert any(line.kind == "removed" for line in plan_diff(replace(planned(), steps=(back,))))
