# SPDX-License-Identifier: Apache-2.0
"""A rehearsal as a table: its steps, the audit afterwards, and usage before and after."""

from trueup.reconcile.copies.rehearse import Rehearsal
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.tables import Cell, Table
from trueup.reconcile.runs.journal import Outcome

REHEARSAL_COLUMNS = ("What", "Subject", "Before", "After", "Result")


def rehearsal_table(shown: Rehearsal) -> Table:
    """One row for each step, for each finding that is left, new or not judged, and so on."""
    rows: list[tuple[Cell, ...]] = [
        (
            "step",
            " ".join(sorted(step.subjects)),
            "",
            "",
            _ended(outcome),
        )
        for step, outcome in shown.outcomes
    ]
    rows += [
        ("step", " ".join(sorted(row.step.subjects)), "", "", f"not rehearsed: {row.reason}")
        for row in shown.left_out
    ]
    judged = (("left", shown.left), ("new", shown.new), ("not judged", shown.unjudged))
    for word, findings in judged:
        rows += [("finding", row.subject.uuid, "", "", f"{word}: {row.defect}") for row in findings]
    rows += [
        ("could not check", row.subject.uuid, "", "", in_words(row.reason))
        for row in shown.unchecked
    ]
    rows += [
        ("could not check", answer.source, "", "", f"did not answer: {answer.reason}")
        for answer in shown.missing
    ]
    rows += [
        (
            "usage",
            f"{row.provider} {row.resource_class}",
            f"{row.before} of {row.capacity}",
            f"{row.after} of {row.capacity}",
            "over-full" if row.after > row.capacity else "",
        )
        for row in shown.usage
    ]
    return REHEARSAL_COLUMNS, rows


def _ended(outcome: Outcome) -> str:
    reason = in_words(outcome.reason)
    return f"{outcome.result}: {reason}" if reason else outcome.result
