# SPDX-License-Identifier: Apache-2.0
"""How the stand-ins look and write: two observations, then a run with a journal, which is named."""

import argparse
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from trueup.cli.nova_manage.instance_lines import ADDING
from trueup.cli.nova_manage.options import CONCURRENCY
from trueup.cli.nova_manage.output import Output
from trueup.cli.outcomes import tell_left
from trueup.cli.terminal.progress import progress, wait
from trueup.reconcile.audit import Observation
from trueup.reconcile.clock import now
from trueup.reconcile.collect.selection import EVERYTHING, Selection
from trueup.reconcile.plan import Plan, Remedy, remedy_of_defect
from trueup.reconcile.runs import (
    INTERVAL_SECONDS,
    Observer,
    Planned,
    applied,
    left_of,
    observer_of,
    plan,
)
from trueup.reconcile.runs.journal import StepOutcome, done_by_reason
from trueup.reconcile.runs.journals import interrupted
from trueup.reconcile.runs.pace import Pace
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import AuditOptions, Finding
from trueup.reconcile.wording import counted

# What only adds allocations needs no long look: every guard is read again at the write, and
# Placement refuses it for a consumer that somebody else wrote.
ADDING_SECONDS = 1.0
_LEFT = "it was written, and is found again all the same"
# A run that was interrupted before is named.
_EARLIER = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Looking:
    """A cloud, and what is read of it each time it is observed."""

    cloud: Cloud
    options: AuditOptions
    selection: Selection = EVERYTHING
    owners: bool = False

    def observed(self) -> Observation:
        """The first observation. Raises as `collect`."""
        with progress() as report:
            return Observer(
                self.cloud, self.options, report, self.selection, owners=self.owners
            ).observe()

    def planned(
        self,
        first: Observation,
        findings: tuple[Finding, ...],
        seconds: float,
        remedy_of: Remedy = remedy_of_defect,
    ) -> Planned:
        """What a second observation, so many seconds later, confirms of these findings."""
        with progress() as report:
            return plan(
                Observer(self.cloud, self.options, report, self.selection, owners=self.owners),
                replace(first.audit, findings=findings),
                timedelta(seconds=seconds),
                lambda left: wait(left, report),
                remedy_of,
            )


def seconds_between(
    arguments: argparse.Namespace, findings: Iterable[Finding], writes: bool
) -> float:
    """The time between two observations: as asked, or long where something is to be released."""
    if arguments.interval is not None:
        return float(arguments.interval)
    adding = not writes or all(row.defect in ADDING for row in findings)
    return ADDING_SECONDS if adding else INTERVAL_SECONDS


def apply(
    steps: Plan,
    cloud: Cloud,
    arguments: argparse.Namespace,
    output: Output,
    partial: Collection[Step] = (),
) -> list[StepOutcome]:
    """Apply a plan, name its run, and look again. Raises as `runs.applied`.

    A step counts as refused if its finding is still there; `partial` leave theirs on purpose.
    """
    if not steps.steps:
        return []
    _name_interrupted(steps, cloud, arguments, output)
    pace = Pace(CONCURRENCY if arguments.concurrency is None else arguments.concurrency)
    outcomes: list[StepOutcome] = []
    with progress() as report, applied(steps, cloud, arguments.state_dir, pace) as run:
        try:
            for outcome in run.outcomes:
                outcomes.append(outcome)
                report("steps", len(outcomes), run.steps)
        finally:
            _name(run.name, run.attempted(), output)
    return list(_looked_again(steps, outcomes, cloud, partial))


def _looked_again(
    plan: Plan, outcomes: Sequence[StepOutcome], cloud: Cloud, partial: Collection[Step]
) -> Iterator[StepOutcome]:
    """The same outcomes, where a write that changed nothing of its finding is none."""
    done = done_by_reason([one for one in outcomes if one[0] not in partial])
    findings = [row for row in plan.findings if done.get(row.id)]
    still: frozenset[str] = frozenset()
    if findings:
        with progress() as report:
            left = left_of(observer_of(plan, findings, cloud, report), findings)
        tell_left(left)
        still = frozenset(row.id for row in left.findings)
    for step, outcome in outcomes:
        is_left = outcome.result == "done" and not still.isdisjoint(step.because)
        yield step, replace(outcome, result="refused", reason=_LEFT) if is_left else outcome


def _name_interrupted(
    steps: Plan, cloud: Cloud, arguments: argparse.Namespace, output: Output
) -> None:
    """Name the runs for the same defects that ended early, and that this one completes."""
    cells = [one.uuid for one in cloud.nova.cells()]
    defects = {row.defect for row in steps.findings}

    def is_of_them(earlier: Plan) -> bool:
        return not defects.isdisjoint(row.defect for row in earlier.findings)

    for journal in interrupted(arguments.state_dir, cells, now() - _EARLIER, is_of_them):
        output.note(f"run {journal.run} was interrupted before; this one does the rest.")
        _name(journal.run, journal.attempted, output)


def _name(run: str, outcomes: Sequence[StepOutcome], output: Output) -> None:
    results = Counter(outcome.result for _, outcome in outcomes)
    if results["done"] or results["unknown"]:
        steps = counted(results["done"], "step")
        unknown = f", {results['unknown']} unknown" if results["unknown"] else ""
        output.note(f"run {run}: {steps} done{unknown}. To take it back: trueup undo {run}")
