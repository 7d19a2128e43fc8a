# SPDX-License-Identifier: Apache-2.0
"""How the stand-ins write: a plan is applied as a run with a journal, which they name."""

import argparse
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from trueup.cli.nova_manage.output import Output
from trueup.cli.progress import progress
from trueup.reconcile.apply import Outcome
from trueup.reconcile.defects import (
    missing_allocation,
    missing_device_allocation,
    missing_port_allocation,
    port_binding_mismatch,
    wrong_owner,
)
from trueup.reconcile.findings import Finding, counted
from trueup.reconcile.pace import Pace
from trueup.reconcile.plan import Plan
from trueup.reconcile.runs import INTERVAL_SECONDS, applied
from trueup.reconcile.sources.cloud import Cloud

# What only adds allocations needs no long look: every guard is read again at the write, and
# Placement refuses it for a consumer that somebody else wrote.
ADDING_SECONDS = 1.0
_ADDING = frozenset(
    {
        missing_allocation.NAME,
        missing_device_allocation.NAME,
        missing_port_allocation.NAME,
        port_binding_mismatch.NAME,
        wrong_owner.NAME,
    }
)


def interval_of(arguments: argparse.Namespace, findings: Iterable[Finding]) -> float:
    """The seconds between two observations: as asked, or long where something is to be released."""
    if arguments.interval is not None:
        return float(arguments.interval)
    if getattr(arguments, "dry_run", False):
        return ADDING_SECONDS
    adding = all(row.defect in _ADDING for row in findings)
    return ADDING_SECONDS if adding else INTERVAL_SECONDS


@dataclass(frozen=True, slots=True)
class Writing:
    """Where a stand-in writes to, and where its journal is kept."""

    cloud: Cloud
    folder: Path
    concurrency: int
    output: Output

    def apply(self, plan: Plan) -> list[Outcome]:
        """Apply a plan, and name its run. Raises as `runs.applied`."""
        if not plan.steps:
            return []
        outcomes: list[Outcome] = []
        with progress() as report, applied(plan, self.cloud, self.folder, self._pace) as run:
            try:
                for outcome in run.outcomes:
                    outcomes.append(outcome)
                    report("steps", len(outcomes), run.steps)
            finally:
                self._name(run.name, outcomes)
        return outcomes

    @property
    def _pace(self) -> Pace:
        return Pace(self.concurrency)

    def _name(self, run: str, outcomes: list[Outcome]) -> None:
        results = Counter(settled.result for _, settled in outcomes)
        if results["done"] or results["unknown"]:
            steps = counted(results["done"], "step")
            self.output.note(f"run {run}: {steps} done. To take it back: trueup undo {run}")
