# SPDX-License-Identifier: Apache-2.0
"""A command at work: two observations, then a run of the one driver, and Nova's lines."""

import argparse
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

from trueup.cli.driving import Driver
from trueup.cli.nova_manage.instance_lines import ADDING
from trueup.cli.nova_manage.options import CONCURRENCY
from trueup.cli.outcomes import OF_A_COMMAND, conclude
from trueup.cli.terminal.progress import Report, progress, say, wait
from trueup.cli.trail import trail_of_environment
from trueup.reconcile.audit import Observation
from trueup.reconcile.clock import now
from trueup.reconcile.collect.selection import EVERYTHING, Selection
from trueup.reconcile.plan import Plan, Remedy, remedy_of_defect
from trueup.reconcile.reasons import because
from trueup.reconcile.runs import INTERVAL_SECONDS, Observer, Planned, plan
from trueup.reconcile.runs.journal import StepOutcome
from trueup.reconcile.runs.journals import interrupted
from trueup.reconcile.runs.pace import Pace
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import AuditOptions, Finding
from trueup.reconcile.verdicts.verified import FOUND_AGAIN

# What only adds allocations needs no long look: every guard is read again at the write, and
# Placement refuses it for a consumer that somebody else wrote.
ADDING_SECONDS = 1.0
_LEFT = because("found-again")
# A run that was interrupted before is named.
_EARLIER = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Job:
    """A cloud, what is read of it at each look, how its plan is written, and what is printed.

    Nova's lines go to standard output, and notes to standard error.
    """

    cloud: Cloud
    options: AuditOptions
    arguments: argparse.Namespace
    selection: Selection = EVERYTHING
    owners: bool = False

    def without_ports(self) -> "Job":
        """The same command, for which Neutron is not asked."""
        options = replace(self.options, without_ports=True)
        return replace(self, cloud=replace(self.cloud, neutron=None), options=options)

    def observed(self) -> Observation:
        """The first observation. Raises as `collect`."""
        with progress() as report:
            return self._observer(report).observe()

    def planned(
        self,
        first: Observation,
        findings: tuple[Finding, ...],
        seconds: float,
        remedy_of: Remedy = remedy_of_defect,
    ) -> Planned:
        """What a second observation, so many seconds later, confirms of these findings."""
        audit = replace(first.audit, findings=findings)
        after = timedelta(seconds=seconds)
        with progress() as report:
            return plan(
                self._observer(report), audit, after, lambda left: wait(left, report), remedy_of
            )

    def seconds_between(self, findings: Collection[Finding], writes: bool) -> float:
        """The time between the looks: as asked, or long where something is to be released."""
        if self.arguments.interval is not None:
            return float(self.arguments.interval)
        releases = writes and any(row.defect not in ADDING for row in findings)
        return INTERVAL_SECONDS if releases else ADDING_SECONDS

    def applied(self, steps: Plan, partial: Collection[Step] = ()) -> Iterator[StepOutcome]:
        """How each step of a plan ended. Raises as `Driver.apply`.

        A step counts as refused if its finding is still there; `partial` leave theirs on purpose.
        """
        if not steps.steps:
            return
        asked = self.arguments
        self._name_interrupted(steps)
        pace = Pace(CONCURRENCY if asked.concurrency is None else asked.concurrency)
        with progress() as report:
            driver = Driver(self.cloud, asked.state_dir, report, pace, trail=trail_of_environment())
            ended = driver.apply(steps)
            whole = tuple(pair for pair in ended.outcomes if pair[0] not in partial)
            rows = driver.verified(steps, replace(ended, outcomes=whole)).verified
        left = {row.finding.id for row in rows if row.state in FOUND_AGAIN}
        for step, outcome in ended.outcomes:
            is_left = outcome.result == "done" and not left.isdisjoint(step.because)
            yield step, replace(outcome, result="refused", reason=_LEFT) if is_left else outcome

    def tell(self, line: str, always: bool = False) -> None:
        """A line of Nova's, which it prints only with --verbose, or always."""
        if always or self.arguments.verbose:
            sys.stdout.write(f"{line}\n")

    def note(self, sentence: str) -> None:
        """Where we differ from Nova, or what Nova does not say."""
        say(f"Note: {sentence}")

    def _observer(self, report: Report) -> Observer:
        return Observer(self.cloud, self.options, report, self.selection, owners=self.owners)

    def _name_interrupted(self, steps: Plan) -> None:
        """Name the runs for the same defects that ended early, and that this one completes."""
        cells = [cell.uuid for cell in self.cloud.nova.cells()]
        defects = {row.defect for row in steps.findings}

        def is_of_them(earlier: Plan) -> bool:
            return not defects.isdisjoint(row.defect for row in earlier.findings)

        since = now() - _EARLIER
        for journal in interrupted(self.arguments.state_dir, cells, since, is_of_them):
            say(f"Run {journal.run} was interrupted before; this one does the rest.")
            conclude(journal.run, journal.attempted, OF_A_COMMAND)
