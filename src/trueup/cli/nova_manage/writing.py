# SPDX-License-Identifier: Apache-2.0
"""How the stand-ins write: a plan is applied as a run with a journal, which they name."""

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from trueup.cli.nova_manage.options import CONCURRENCY
from trueup.cli.nova_manage.output import Output
from trueup.cli.terminal.progress import progress, wait
from trueup.reconcile.audit import Observation
from trueup.reconcile.clock import now
from trueup.reconcile.collect.selection import Selection
from trueup.reconcile.defects import (
    missing_allocation,
    missing_device_allocation,
    missing_port_allocation,
    port_binding_mismatch,
    wrong_owner,
)
from trueup.reconcile.plan import Plan
from trueup.reconcile.runs import INTERVAL_SECONDS, Observer, Planned, applied, plan
from trueup.reconcile.runs.journal import StepOutcome
from trueup.reconcile.runs.journals import interrupted
from trueup.reconcile.runs.pace import Pace
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.verdicts import AuditOptions, Finding
from trueup.reconcile.wording import counted

# What only adds allocations needs no long look: every guard is read again at the write, and
# Placement refuses it for a consumer that somebody else wrote.
ADDING_SECONDS = 1.0
# A run that was interrupted before is named.
_EARLIER = timedelta(hours=1)
_ADDING = frozenset(
    {
        missing_allocation.NAME,
        missing_device_allocation.NAME,
        missing_port_allocation.NAME,
        port_binding_mismatch.NAME,
        wrong_owner.NAME,
    }
)


def observed(
    cloud: Cloud, options: AuditOptions, selection: Selection, owners: bool = False
) -> Observation:
    """The first observation. Raises as `collect`."""
    with progress() as report:
        return Observer(cloud, options, report, selection, owners=owners).observe()


def confirmed(
    where: tuple[Cloud, AuditOptions, Selection],
    first: Observation,
    findings: tuple[Finding, ...],
    seconds: float,
    owners: bool = False,
) -> Planned:
    """What a second observation, so many seconds later, confirms of these findings, as a plan."""
    cloud, options, selection = where
    with progress() as report:
        return plan(
            Observer(cloud, options, report, selection, owners=owners),
            replace(first.audit, findings=findings),
            timedelta(seconds=seconds),
            lambda left: wait(left, report),
        )


def interval_of(arguments: argparse.Namespace, findings: Iterable[Finding], writes: bool) -> float:
    """The seconds between two observations: as asked, or long where something is to be released."""
    if arguments.interval is not None:
        return float(arguments.interval)
    if not writes:
        return ADDING_SECONDS
    adding = all(row.defect in _ADDING for row in findings)
    return ADDING_SECONDS if adding else INTERVAL_SECONDS


def pace_of(arguments: argparse.Namespace) -> Pace:
    """What --concurrency says, or as it is without it."""
    steps = arguments.concurrency
    return Pace(CONCURRENCY if steps is None else steps)


@dataclass(frozen=True, slots=True)
class Writing:
    """Where a stand-in writes to, and where its journal is kept."""

    cloud: Cloud
    folder: Path
    pace: Pace
    output: Output

    def apply(self, steps: Plan) -> list[StepOutcome]:
        """Apply a plan, and name its run. Raises as `runs.applied`."""
        if not steps.steps:
            return []
        self._name_interrupted(steps)
        outcomes: list[StepOutcome] = []
        with progress() as report, applied(steps, self.cloud, self.folder, self.pace) as run:
            try:
                for outcome in run.outcomes:
                    outcomes.append(outcome)
                    report("steps", len(outcomes), run.steps)
            finally:
                self._name(run.name, run.attempted())
        return outcomes

    def _name_interrupted(self, steps: Plan) -> None:
        """Name the runs for the same defects that ended early, and that this one completes."""
        cells = [one.uuid for one in self.cloud.nova.cells()]
        defects = {row.defect for row in steps.findings}

        def is_of_them(earlier: Plan) -> bool:
            return not defects.isdisjoint(row.defect for row in earlier.findings)

        for journal in interrupted(self.folder, cells, now() - _EARLIER, is_of_them):
            self.output.note(f"run {journal.run} was interrupted before; this one does the rest.")
            self._name(journal.run, journal.attempted)

    def _name(self, run: str, outcomes: Sequence[StepOutcome]) -> None:
        results = Counter(outcome.result for _, outcome in outcomes)
        if results["done"] or results["unknown"]:
            steps = counted(results["done"], "step")
            unknown = f", {results['unknown']} unknown" if results["unknown"] else ""
            back = f"To take it back: trueup undo {run}"
            self.output.note(f"run {run}: {steps} done{unknown}. {back}")
