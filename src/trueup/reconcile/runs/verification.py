# SPDX-License-Identifier: Apache-2.0
"""Verification: what became of the findings that a run repaired. It reads, and writes nothing."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from trueup.reconcile import changes
from trueup.reconcile.audit import Audit
from trueup.reconcile.collect.coverage import Progress
from trueup.reconcile.plan import Plan
from trueup.reconcile.reasons import because, together
from trueup.reconcile.runs.journal import Journal, StepOutcome, done_by_reason
from trueup.reconcile.runs.runs import observer_of
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import Finding, LeftAlone
from trueup.reconcile.verdicts.verified import State, Verified


@dataclass(eq=False)
class UndoNotVerified(Exception):
    """The run is an undo: the findings that the undone run repaired are expected again."""

    run: str
    undoes: str


def verified(
    findings: Iterable[Finding],
    seen: Audit,
    as_left: Callable[[Finding], bool],
    known: Container[str] = (),
) -> Iterator[Verified]:
    """The state of each of these findings in an audit of their subjects. Pure.

    `as_left` says whether the targets of a finding's steps are as the run left them. Findings whose
    ids were `known` before the run are no news.
    """
    found = {row.id for row in seen.every_finding}
    undecided = {row.subject: row.reason for row in seen.left_alone if not _waits_rightly(row)}
    undecided |= {row.subject: row.reason for row in seen.unchecked}
    missing = together(
        because("source-says", source=status.source, error=status.reason)
        for status in seen.coverage.missing
    )
    for finding in findings:
        others = tuple(
            row
            for row in seen.every_finding
            if row.subject == finding.subject and row.id not in known and row.id != finding.id
        )
        if finding.id in found:
            state = State.STILL_THERE if as_left(finding) else State.COME_BACK
            yield Verified(finding, state, others)
        elif others:
            yield Verified(finding, State.OTHER, others)
        elif reason := undecided.get(finding.subject, missing):
            yield Verified(finding, State.NOT_JUDGED, reason=reason)
        else:
            yield Verified(finding, State.GONE)


def _waits_rightly(row: LeftAlone) -> bool:
    """Whether all of it was judged: its move waits for its owner, and its claims are right."""
    names = (row.reason.name, *(cause.name for cause in row.reason.causes))
    return "waits-for-confirmation" in names


def verify(
    plan: Plan, findings: Sequence[Finding], steps: Iterable[Step], cloud: Cloud, progress: Progress
) -> list[Verified]:
    """Observe the subjects of these findings of a plan, and return their states.

    `steps` are the steps that repaired them. Raises as `collect`.
    """
    if not findings:
        return []
    observer = observer_of(plan, findings, cloud, progress)
    known = {row.id for row in (*plan.findings, *(declined.finding for declined in plan.declined))}
    by_reason: dict[str, list[Step]] = {}
    for step in steps:
        for reason in step.because:
            by_reason.setdefault(reason, []).append(step)
    as_left = partial(_as_left, by_reason, cloud)
    return list(verified(findings, observer.observe().audit, as_left, known))


def verify_run(journal: Journal, cloud: Cloud, progress: Progress) -> list[Verified]:
    """The state of the findings that a run repaired, without steps that were taken back.

    Raises UndoNotVerified, and as `collect`.
    """
    plan = journal.plan
    if plan.undoes is not None:
        raise UndoNotVerified(journal.run, plan.undoes)
    findings = repaired(plan.findings, journal.in_place)
    steps = [step for step, _ in journal.in_place]
    return verify(plan, findings, steps, cloud, progress)


def repaired(findings: Iterable[Finding], outcomes: Iterable[StepOutcome]) -> list[Finding]:
    """The findings whose attempted steps are all done."""
    done = done_by_reason(outcomes)
    return [row for row in findings if done.get(row.id)]


def _as_left(by_reason: dict[str, list[Step]], cloud: Cloud, finding: Finding) -> bool:
    every = [change for step in by_reason.get(finding.id, ()) for change in step.changes]
    return all(changes.read(change.target, cloud).state == change.after for change in every)
