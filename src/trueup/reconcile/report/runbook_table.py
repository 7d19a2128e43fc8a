# SPDX-License-Identifier: Apache-2.0
"""A runbook as one table or document: its preflight, its steps and their verification."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trueup.reconcile.report.deeds import deed
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.tables import Cell, Columns, Table
from trueup.reconcile.runbooks.preflight import Prepared
from trueup.reconcile.runs.journal import StepOutcome
from trueup.reconcile.steps import Step

RUNBOOK_COLUMNS: Columns = ("Part", "Subject", "Found", "Verdict", "What follows")
# More subjects of one step than this are counted instead of named.
_NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class RunbookView:
    """The parts that a command shows: `outcomes` of the attempted steps, and what is `left`.

    `left` is None if nothing was applied. `run` is the name of the run; empty without one.
    """

    prepared: Prepared | None
    outcomes: Sequence[StepOutcome] = ()
    left: tuple[str, ...] | None = None
    run: str = ""


def runbook_table(view: RunbookView) -> Table:
    """Rows of the preflight, the steps and the verification."""
    checks = view.prepared.checks if view.prepared else ()
    rows: list[tuple[Cell, ...]] = [
        (
            check.part,
            check.subject,
            in_words(check.found),
            check.outlook.value,
            in_words(check.then),
        )
        for check in checks
    ]
    rows += [tuple(row.values()) for row in _steps(view)]
    rows += [("verified", "", left, "left", "run this again") for left in view.left or ()]
    if view.left == ():
        rows.append(("verified", "", "nothing is left to do", "ok", ""))
    return RUNBOOK_COLUMNS, rows


def runbook_document(view: RunbookView) -> Mapping[str, Any]:
    """The same, for programs."""
    prepared = view.prepared
    return {
        "purpose": prepared.purpose if prepared else "",
        "blocked": prepared.blocked if prepared else False,
        "permanent": in_words(prepared.permanent) if prepared else "",
        "checks": [
            {"part": check.part, "subject": check.subject, "found": in_words(check.found),
             "verdict": check.outlook.value, "then": in_words(check.then)}
            for check in (prepared.checks if prepared else ())
        ],
        "steps": list(_steps(view)),
        "run": view.run,
        "left": None if view.left is None else list(view.left),
    }  # fmt: skip


def _steps(view: RunbookView) -> list[dict[str, str]]:
    names = view.prepared.plan.names if view.prepared else {}
    if view.outcomes:
        return [
            _row(number, step, names, outcome.result, in_words(outcome.reason))
            for number, (step, outcome) in enumerate(view.outcomes, 1)
        ]
    steps = view.prepared.plan.steps if view.prepared else ()
    return [_row(number, step, names, "planned", "") for number, step in enumerate(steps, 1)]


def _row(
    number: int, step: Step, names: Mapping[str, str], verdict: str, follows: str
) -> dict[str, str]:
    subjects = sorted(step.subjects)
    subject = " ".join(subjects) if len(subjects) <= _NAMED_MAX else f"{len(subjects)} subjects"
    return {
        "part": f"step {number}",
        "subject": subject,
        "found": deed(step, names),
        "verdict": verdict,
        "then": follows,
    }
