# SPDX-License-Identifier: Apache-2.0
"""The one driver of runs: a command has a plan or a run, and the driver asks, follows, concludes.

It applies a plan, goes on with a run, and takes one back; it says what happened, however that ends.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from trueup.cli.outcomes import (
    OF_A_COMMAND,
    Again,
    code_of,
    code_of_verified,
    conclude,
    tell_in_part,
    tell_nothing_to_undo,
    tell_open,
    tell_verified,
)
from trueup.cli.terminal.progress import Report, say
from trueup.cli.trail import NO_TRAIL, Trail
from trueup.exit_codes import ExitCode
from trueup.reconcile.plan import Plan
from trueup.reconcile.runs import ALL_STEPS, Chosen, Run, applied, continued, undone
from trueup.reconcile.runs.journal import NOBODY, Origin, StepOutcome
from trueup.reconcile.runs.pace import ONE_BY_ONE, Pace
from trueup.reconcile.runs.verification import repaired, verify
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import AccessDenied
from trueup.reconcile.verdicts.verified import Verified
from trueup.reconcile.wording import counted


@dataclass(frozen=True, slots=True)
class Driven:
    """How a run ended. `run` is empty if there was nothing to do.

    `verified`: what became of the findings whose steps are done. `settled`: nothing of what was to
    be taken back may still be in place, or come into place. `denied`: a service refused our
    credentials, and the run stopped.
    """

    run: str = ""
    outcomes: tuple[StepOutcome, ...] = ()
    verified: tuple[Verified, ...] = ()
    settled: bool = True
    denied: AccessDenied | None = None

    @property
    def code(self) -> ExitCode:
        return code_of(self.outcomes) if self.settled else ExitCode.SOME_REFUSED


NOTHING = Driven()


def _as_undo(in_part: StepOutcome) -> StepOutcome:
    """The outcome of taking a step back that was written in part."""
    step, outcome = in_part
    if outcome.result == "refused" and not outcome.partly:
        return step, replace(outcome, result="done")
    return step, outcome


def code_of_all(*runs: Driven) -> ExitCode:
    """The exit code of several runs, where a later one may do what an earlier one could not."""
    code = code_of(*(run.outcomes for run in runs))
    if code is ExitCode.CLEAN:
        return code_of_verified([row for run in runs[-1:] for row in run.verified])
    return code


@dataclass(frozen=True, slots=True)
class Driver:
    """Where a command writes, how fast, and what it tells to do about steps that were not done.

    `whole`: the command takes a run back if a step was refused, so it is told of a service that
    refuses our credentials. Every other error is raised. `known`: what is known of the writers,
    such as who approved the plan. `trail`: who is told of each run.
    """

    cloud: Cloud
    folder: Path
    report: Report
    pace: Pace = ONE_BY_ONE
    again: Again = OF_A_COMMAND
    whole: bool = False
    known: Origin = NOBODY
    trail: Trail = NO_TRAIL

    def apply(self, plan: Plan) -> Driven:
        """Apply a plan, or go on with its run. Raises as `applied`, and what its outcomes raise."""
        if not plan.steps:
            say("The plan has no steps: nothing is written.")
            return NOTHING
        with applied(plan, self.cloud, self.folder, self.pace, self.known) as run:
            return self.followed(run)

    def go_on(self, name: str) -> Driven:
        """Go on with a run. Raises as `continued`, and what its outcomes raise."""
        with continued(name, self.cloud, self.folder, self.pace, self.known) as run:
            return self.followed(run)

    def take_back(self, name: str, chosen: Chosen = ALL_STEPS) -> Driven:
        """Take a run back. Raises as `undone`, and what its outcomes raise."""
        with undone(name, self.cloud, self.folder, chosen, self.pace) as run:
            ended = self.followed(run) if run.name else NOTHING
        tell_in_part(run)
        tell_open(run, name)
        if not run.name and not run.in_part:
            tell_nothing_to_undo(run, name)
        outcomes = (*map(_as_undo, run.in_part), *ended.outcomes)
        settled = not (run.open or run.left_in_place or run.partly or run.elsewhere)
        return replace(ended, outcomes=outcomes, settled=settled)

    def followed(self, run: Run) -> Driven:
        """All outcomes of a run. If it stops early, what it did is told before the error."""
        outcomes: list[StepOutcome] = []
        if run.finished:
            say(f"Run {run.name} was finished before; nothing is written now.")
        try:
            with self.trail.of(run.journal, self.folder) as send:
                for outcome in run.outcomes:
                    outcomes.append(outcome)
                    send(outcome)
                    self.report("steps", len(outcomes), run.steps)
        except BaseException as stop:
            attempted = run.attempted()
            steps = counted(run.steps, "step")
            say(f"Run {run.name} stopped: {len(attempted)} of {steps} attempted.")
            conclude(run.name, attempted, self.again)
            if self.whole and isinstance(stop, AccessDenied):
                return Driven(run.name, tuple(attempted), denied=stop)
            say(f"To continue it: {self.again.stopped}.")
            raise
        conclude(run.name, outcomes, self.again)
        return Driven(run.name, tuple(outcomes))

    def verified(self, plan: Plan, driven: Driven) -> Driven:
        """The same end, with what became of the findings whose steps are all done."""
        findings = repaired(plan.findings, driven.outcomes)
        steps = [step for step, _ in driven.outcomes]
        rows = verify(plan, findings, steps, self.cloud, self.report)
        tell_verified(rows)
        return replace(driven, verified=tuple(rows))
