# SPDX-License-Identifier: Apache-2.0
"""Tables hold what was found, in plain values."""

import json
from dataclasses import replace
from datetime import timedelta

from tests.reconcile.planning import BROKEN, facts_of, planned
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.reasons import because
from trueup.reconcile.report.tables import (
    Table,
    defects_table,
    outcome_table,
    plan_table,
    run_table,
    runs_table,
)
from trueup.reconcile.runs.journal import Origin, Outcome
from trueup.reconcile.runs.journals import Unreadable, applying, runs

NAMES = {uuid: provider.name for uuid, provider in facts_of(BROKEN).providers.items()}

OPERATOR = Origin("operator", "controller", "http://placement")


def checked(table: Table) -> Table:
    """Every row has a cell for each column, and is plain enough for JSON."""
    columns, rows = table
    assert all(len(row) == len(columns) for row in rows)
    json.dumps(rows)
    return table


def test_a_plan_is_told_step_by_step_with_names_where_known():
    columns, rows = checked(plan_table(planned()))
    steps = [dict(zip(columns, row, strict=True)) for row in rows]
    assert [step["Step"] for step in steps] == [1, 2, 3]
    assert steps[0] == {
        "Step": 1,
        "Name": "old",
        "Subject": uuid_of("old"),
        "Before": {"h1": "VCPU=2 MEMORY_MB=256 DISK_GB=6"},
        "After": {},
        "Because": "orphaned-allocation",
    }
    [db] = [step for step in steps if step["Subject"] == uuid_of("db")]
    assert db["Before"] == {"h2": "VCPU=1 MEMORY_MB=128"}
    assert db["After"] == {"h1": "VCPU=1 MEMORY_MB=128"}


def test_a_provider_without_a_name_is_told_by_its_uuid():
    _, rows = plan_table(replace(planned(), names={}))
    assert rows[0][3] == {uuid_of("h1"): "VCPU=2 MEMORY_MB=256 DISK_GB=6"}


def test_outcomes_are_told_in_their_order():
    first, second, _ = planned().steps
    outcomes = [
        (second, Outcome(second.id, "refused", because("answer", words="it moved"))),
        (first, Outcome(first.id, "done")),
    ]
    _, rows = checked(outcome_table(outcomes, planned().names))
    assert rows == [
        ("web", second.consumers[0], "refused", "missing-allocation", "it moved"),
        ("old", first.consumers[0], "done", "orphaned-allocation", ""),
    ]


def test_runs_are_told_with_what_became_of_their_steps(tmp_path):
    plan = planned()
    first, second, _ = plan.steps
    with applying(plan, tmp_path, OPERATOR) as journal:
        journal.record(Outcome(first.id, "done"))
        journal.record(Outcome(second.id, "refused", because("answer", words="it moved")))
        _, rows = checked(run_table(journal))
    assert [row[3] for row in rows] == ["done", "refused", "open"]
    assert [row[6] for row in rows] == ["", "it moved", ""]
    undo = replace(plan, made_at=plan.made_at + timedelta(hours=1), undoes=plan.id, steps=(first,))
    with applying(undo, tmp_path, OPERATOR):
        columns, rows = checked(runs_table((*runs(tmp_path), Unreadable("other", "damaged"))))
    reported = [dict(zip(columns, row, strict=True)) for row in rows]
    counts = ("Steps", "Done", "Refused", "Unknown", "Open", "Taken back")
    assert [tuple(row[name] for name in counts) for row in reported] == [
        (3, 1, 1, 0, 1, 0),
        (1, 0, 0, 0, 1, 0),
        ("",) * 6,
    ]
    assert [row["Undoes"] for row in reported] == ["", plan.id, ""]
    assert {row["By"] for row in reported} == {"operator@controller", ""}
    assert reported[0]["Endpoint"] == "http://placement"
    assert reported[2]["Note"] == "cannot be read: damaged"


def test_every_defect_is_listed():
    _, rows = checked(defects_table())
    assert [row[0] for row in rows] == [defect.NAME for defect in DEFECTS]
    assert all(all(row) for row in rows)
