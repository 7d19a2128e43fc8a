# SPDX-License-Identifier: Apache-2.0
"""Coverage as a table: each source, and what it gave."""

from trueup.reconcile.facts import Facts, SourceStatus
from trueup.reconcile.report.tables import Cell, Table

COVERAGE_COLUMNS = ("Source", "Answered", "At", "Read via", "Rows", "Not in the facts")


def coverage_table(facts: Facts) -> Table:
    """One row for each source that was asked."""
    return COVERAGE_COLUMNS, [_row(answer) for answer in facts.coverage.sources]


def _row(answer: SourceStatus) -> tuple[Cell, ...]:
    answered = "no" if not answer.answered else "partly" if answer.partial else "yes"
    moment = answer.answered_at
    return (
        answer.source,
        answered,
        moment.isoformat(sep=" ", timespec="seconds") if moment else "",
        answer.read_via,
        answer.rows,
        gaps_of(answer),
    )


def gaps_of(answer: SourceStatus) -> dict[str, str]:
    """The gaps of an answer, by place; a mapping, as other reasons are."""
    gaps = {"everything": answer.reason} if not answer.answered else {}
    gaps |= {gap.what: gap.reason for gap in answer.unsupported}
    gaps |= {
        " ".join(filter(None, (row.table, row.row, row.column))): row.reason
        for row in answer.unread
    }
    if answer.unread_rows > len(answer.unread):
        gaps["more"] = f"{answer.unread_rows - len(answer.unread)} values that are not named here"
    return gaps
