# SPDX-License-Identifier: Apache-2.0
"""A rehearsal as a table; what it shows of a plan: tests/reconcile/copies/test_rehearse.py."""

from tests.reconcile.planning import planned
from trueup.reconcile.copies.rehearse import Rehearsal, Usage
from trueup.reconcile.report.rehearsals import rehearsal_table
from trueup.reconcile.runs.journal import Outcome


def test_steps_findings_and_usage_are_rows():
    plan = planned()
    [step, *_] = plan.steps
    shown = Rehearsal(
        outcomes=((step, Outcome(step.id, "refused", "it moved")),),
        left=plan.findings[:1],
        new=(),
        unchecked=(),
        usage=(Usage("h1", "VCPU", 4, 9, 8),),
        missing=(),
    )
    _, rows = rehearsal_table(shown)
    assert rows == [
        ("step", step.consumers[0], "", "", "refused: it moved"),
        ("finding", plan.findings[0].subject.uuid, "", "", f"left: {plan.findings[0].defect}"),
        ("usage", "h1 VCPU", "4 of 8", "9 of 8", "over-full"),
    ]
