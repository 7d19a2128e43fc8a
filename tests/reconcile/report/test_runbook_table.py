# SPDX-License-Identifier: Apache-2.0
"""A runbook as a table and as a document."""

from tests.reconcile.runbooks.preparing import retirement_of
from trueup.reconcile.report.runbook_table import RunbookView, runbook_document, runbook_table
from trueup.reconcile.runs.journal import Outcome

PREPARED = retirement_of("h1", "cell1\n  host h1 VCPU=8\n")
[STEP] = PREPARED.plan.steps


def test_checks_come_first_and_steps_are_planned():
    _, rows = runbook_table(RunbookView(PREPARED))
    assert [(row[0], row[3]) for row in rows] == [
        ("service", "planned"), ("provider", "planned"), ("step 1", "planned")
    ]  # fmt: skip


def test_after_applying_steps_say_how_they_ended_and_what_is_left():
    refused = Outcome(STEP.id, "refused", "an instance is on h1")
    _, rows = runbook_table(RunbookView(PREPARED, ((STEP, refused),), ("h1 is mapped",), "a-run"))
    assert rows[-2][3:] == ("refused", "an instance is on h1")
    assert rows[-1][2:4] == ("h1 is mapped", "left")
    _, rows = runbook_table(RunbookView(PREPARED, ((STEP, refused),), ()))
    assert rows[-1][2:4] == ("nothing is left to do", "ok")


def test_programs_get_the_same():
    document = runbook_document(RunbookView(PREPARED))
    assert document["purpose"] == "retire:h1"
    assert [row["verdict"] for row in document["steps"]] == ["planned"]
    assert document["left"] is None
    assert runbook_document(RunbookView(None, left=()))["checks"] == []
