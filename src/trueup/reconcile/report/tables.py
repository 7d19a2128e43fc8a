# SPDX-License-Identifier: Apache-2.0
"""Plans, runs and defects as tables: column names, and rows of plain values.

There is one report for every output, such as text and JSON. A cell is a string, a number, or a
mapping, which text output flattens.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.plan import Plan, Ruling
from trueup.reconcile.plan.policy import Policy
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.states import before_and_after
from trueup.reconcile.report.words import decision_in_words, evidence_in_words
from trueup.reconcile.runs.journal import Journal, StepOutcome
from trueup.reconcile.runs.journals import Unreadable
from trueup.reconcile.runs.proof import Proof
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import Evidence
from trueup.reconcile.verdicts.verified import FOUND_AGAIN, Verified


@dataclass(frozen=True, slots=True)
class EvidenceCell:
    """Evidence: values for programs, and words for people."""

    evidence: Evidence

    @property
    def words(self) -> Mapping[str, str]:
        return evidence_in_words(self.evidence)


Cell = str | int | Mapping[str, str] | EvidenceCell
Columns = tuple[str, ...]
Table = tuple[Columns, list[tuple[Cell, ...]]]

PLAN_COLUMNS = ("Step", "Name", "Subject", "Before", "After", "Because")
RULINGS_COLUMNS = ("Step", "Name", "Subject", "Because", "Decision", "Rule", "Policy")
RULES_COLUMNS = ("Rule", "Name", "Decision", "Conditions")
OUTCOME_COLUMNS = ("Name", "Subject", "Result", "Because", "Reason")
RUNS_COLUMNS = (
    "Run", "Began at", "By", "Endpoint", "Undoes", "Steps", "Done", "Refused", "Unknown", "Open",
    "Taken back", "Note", "Planned by", "Approved by",
)  # fmt: skip
RUN_COLUMNS = ("Step", "Name", "Subject", "Result", "At", "Because", "Reason", "Requests")
PROOF_COLUMNS = (
    "Run",
    "Lines",
    "Digest",
    "Whole",
    "Signed by",
    "Signed lines",
    "Sent lines",
    "Note",
)
VERIFIED_COLUMNS = ("Finding", "State", "Found now", "Reason")
DEFECTS_COLUMNS = ("Defect", "Severity", "What it is", "Remedy")


def plan_table(plan: Plan) -> Table:
    """The steps in order."""
    names = plan.names
    return PLAN_COLUMNS, [
        (number, *_subject(step, names), *before_and_after(step, names), _defects(step))
        for number, step in enumerate(plan.steps, 1)
    ]


def rulings_table(plan: Plan, rulings: Mapping[str, Ruling]) -> Table:
    """What the policies in force say of each step of a plan."""
    rows: list[tuple[Cell, ...]] = []
    for number, step in enumerate(plan.steps, 1):
        ruling = rulings.get(step.id)
        said = ("", "", "")
        if ruling:
            why = in_words(ruling.passed_over)
            rule = ruling.rule + (f": {why}" if why else "")
            said = (decision_in_words(ruling), rule, ruling.policy)
        rows.append((number, *_subject(step, plan.names), _defects(step), *said))
    return RULINGS_COLUMNS, rows


def rules_table(policy: Policy) -> Table:
    """The rules of a policy, in their order, and what decides where none fits."""
    rows: list[tuple[Cell, ...]] = [
        (str(number), rule.name, rule.decision, "; ".join(rule.conditions))
        for number, rule in enumerate(policy.rules, 1)
    ]
    if policy.rules or policy.default:
        rows.append(("default", "", policy.default or "never", ""))
    return RULES_COLUMNS, rows


def outcome_table(outcomes: Iterable[StepOutcome], names: Mapping[str, str]) -> Table:
    """How each step of a run ended; `names` are those of its plan."""
    return OUTCOME_COLUMNS, [
        (*_subject(step, names), outcome.result, _defects(step), in_words(outcome.reason))
        for step, outcome in outcomes
    ]


def runs_table(journals: Iterable[Journal | Unreadable]) -> Table:
    """Every run with a journal; for an unreadable journal, why it cannot be read."""
    return RUNS_COLUMNS, [_run_row(journal) for journal in journals]


def _run_row(journal: Journal | Unreadable) -> tuple[Cell, ...]:
    if isinstance(journal, Unreadable):
        return journal.run, *([""] * 10), f"cannot be read: {journal.reason}", "", ""
    steps, origin = journal.plan.steps, journal.origin
    approvals = (approval.by for origin in journal.origins for approval in origin.approvals)
    results = Counter(step_result(step, journal) for step in steps)
    counts = (results[name] for name in ("done", "refused", "unknown", "open", "taken back"))
    return (
        journal.run,
        _moment(journal.began_at),
        ", ".join(dict.fromkeys(origin.account for origin in journal.origins)),
        origin.endpoint,
        journal.plan.undoes or "",
        len(steps),
        *counts,
        "by trueup watch --repair" if journal.unattended else "",
        journal.plan.made_by,
        " ".join(dict.fromkeys(approvals)),
    )


def run_table(journal: Journal) -> Table:
    """The steps of one run, including those without an outcome."""
    rows: list[tuple[Cell, ...]] = []
    for number, step in enumerate(journal.plan.steps, 1):
        outcome, moment = journal.outcome_of(step), journal.outcome_at(step)
        undo = journal.taken_back_by(step)
        rows.append(
            (
                number,
                *_subject(step, journal.plan.names),
                step_result(step, journal),
                _moment(moment) if moment else "",
                _defects(step),
                f"taken back by {undo}" if undo else in_words(outcome.reason) if outcome else "",
                " ".join(outcome.request_ids) if outcome else "",
            )
        )
    return RUN_COLUMNS, rows


def proof_table(proofs: Iterable[Proof]) -> Table:
    """What can be proven of each journal."""
    return PROOF_COLUMNS, [
        (
            proof.run,
            proof.lines,
            proof.digest,
            "no" if proof.fault else "yes",
            proof.signed_by,
            proof.signed_lines,
            proof.received_lines,
            in_words(proof.fault or proof.lacking),
        )
        for proof in proofs
    ]


def step_result(step: Step, journal: Journal) -> str:
    """The outcome of a step, or that it was taken back; `open`: it was not attempted."""
    if journal.taken_back_by(step):
        return "taken back"
    if journal.fate_open(step):
        return "unknown"
    outcome = journal.outcome_of(step)
    return outcome.result if outcome else "open"


def verified_table(rows: Iterable[Verified]) -> Table:
    """The state of the findings that a run repaired."""
    return VERIFIED_COLUMNS, [
        (
            row.finding.id,
            row.state.value,
            " ".join(other.id for other in row.others)
            or row.finding.id * (row.state in FOUND_AGAIN),
            in_words(row.reason),
        )
        for row in rows
    ]


def _subject(step: Step, names: Mapping[str, str]) -> tuple[str, str]:
    """The names and the uuids of what a step changes."""
    uuids = sorted(step.subjects)
    return " ".join(names[uuid] for uuid in uuids if uuid in names), " ".join(uuids)


def _moment(moment: datetime) -> str:
    return moment.isoformat(sep=" ", timespec="seconds")


def defects_table() -> Table:
    """Every defect Trueup knows."""
    return DEFECTS_COLUMNS, [
        (defect.NAME, ", ".join(defect.SEVERITIES), defect.TITLE, defect.REMEDY)
        for defect in DEFECTS
    ]


def _defects(step: Step) -> str:
    """The defects that a step remedies."""
    return ", ".join(reason.partition(":")[0] for reason in step.because)
