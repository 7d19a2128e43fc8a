# SPDX-License-Identifier: Apache-2.0
"""Audits, plans and runs as tables: column names, and rows of plain values.

One report for every output: the commands print it as text or JSON, others may show it elsewhere.
A cell is a string, a number, or a mapping that text flattens.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trueup.reconcile.audit import Audit
from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.facts import Allocations
from trueup.reconcile.findings import Evidence, LeftAlone, Unchecked, plain_words
from trueup.reconcile.journal import Journal, Settled
from trueup.reconcile.plan import Plan
from trueup.reconcile.report.words import evidence_in_words
from trueup.reconcile.steps import Step


@dataclass(frozen=True, slots=True)
class EvidenceCell:
    """Evidence: values for programs, and words for people."""

    evidence: Evidence

    @property
    def words(self) -> Mapping[str, str]:
        return evidence_in_words(self.evidence)


Cell = str | int | Mapping[str, str] | EvidenceCell
Table = tuple[tuple[str, ...], list[tuple[Cell, ...]]]


def audit_table(audit: Audit, everything: bool) -> Table:
    """Findings, then what could not be checked; with `everything`, also what was left alone."""
    columns = ("Verdict", "Severity", "Defect", "Kind", "Subject", "Where", "Evidence")
    rows: list[tuple[Cell, ...]] = [
        (
            "finding",
            row.severity.value,
            row.defect,
            row.subject.kind,
            row.subject.uuid,
            row.where,
            EvidenceCell(row.evidence),
        )
        for row in audit.findings
    ]
    rows += [
        (
            "could not check",
            "",
            "",
            "source",
            answer.source,
            "",
            {"reason": f"did not answer: {answer.reason}"},
        )
        for answer in audit.coverage.missing
    ]
    rows += [_reasoned("could not check", row) for row in audit.unchecked]
    if everything:
        rows += [_reasoned("left alone", row) for row in audit.left_alone]
    return columns, rows


def plan_table(plan: Plan, names: Mapping[str, str]) -> Table:
    """The steps in order; `names` are the providers' names by uuid, where known."""
    columns = ("Step", "Consumer", "Before", "After", "Because")
    return columns, [
        (
            number,
            step.consumer,
            _held(step.before, names),
            _held(step.after, names),
            _defects(step),
        )
        for number, step in enumerate(plan.steps, 1)
    ]


def outcome_table(outcomes: Iterable[tuple[Step, Settled]]) -> Table:
    """How each step of a run ended."""
    columns = ("Consumer", "Result", "Because", "Reason")
    return columns, [
        (step.consumer, settled.result, _defects(step), settled.reason)
        for step, settled in outcomes
    ]


def runs_table(journals: Iterable[Journal]) -> Table:
    """Every run there is a journal of."""
    columns = ("Run", "Made at", "Undoes", "Steps", "Done", "Refused", "Open")
    rows: list[tuple[Cell, ...]] = []
    for journal in journals:
        ended = [journal.settled(step) for step in journal.plan.steps]
        done = sum(1 for settled in ended if settled and settled.result == "done")
        open_steps = sum(1 for settled in ended if settled is None)
        rows.append(
            (
                journal.run,
                journal.plan.made_at.isoformat(sep=" ", timespec="seconds"),
                journal.plan.undoes or "",
                len(ended),
                done,
                len(ended) - done - open_steps,
                open_steps,
            )
        )
    return columns, rows


def run_table(journal: Journal) -> Table:
    """The steps of one run, also those that were never settled."""
    columns = ("Consumer", "Result", "Because", "Reason")
    rows: list[tuple[Cell, ...]] = []
    for step in journal.plan.steps:
        settled = journal.settled(step)
        result = settled.result if settled else "open"
        reason = settled.reason if settled else ""
        rows.append((step.consumer, result, _defects(step), reason))
    return columns, rows


def defects_table() -> Table:
    """Every defect Trueup knows."""
    return ("Defect", "What it is", "Remedy"), [
        (defect.NAME, defect.TITLE, defect.REMEDY) for defect in DEFECTS
    ]


def _reasoned(verdict: str, row: Unchecked | LeftAlone) -> tuple[Cell, ...]:
    subject = row.subject
    return verdict, "", "", subject.kind, subject.uuid, row.where, {"reason": row.reason}


def _held(allocations: Allocations | None, names: Mapping[str, str]) -> Mapping[str, str]:
    if allocations is None:
        return {}
    return {
        names.get(uuid, uuid): plain_words(amounts)
        for uuid, amounts in sorted(allocations.amounts.items())
    }


def _defects(step: Step) -> str:
    """The defects a step remedies; its consumer is their subject, so that the ids say no more."""
    return ", ".join(reason.partition(":")[0] for reason in step.because)
