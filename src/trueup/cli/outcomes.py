# SPDX-License-Identifier: Apache-2.0
"""A run as the operator follows it: progress, and what happened, however it ends."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trueup.cli.terminal.progress import Report, say
from trueup.exit_codes import ExitCode
from trueup.reconcile.changes import not_restorable
from trueup.reconcile.plan import Plan
from trueup.reconcile.runs import INTERVAL_SECONDS, OpenStep, Planned, Run
from trueup.reconcile.runs.journal import Journal, StepOutcome
from trueup.reconcile.runs.journals import unread_since
from trueup.reconcile.runs.pace import Pace
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.wording import counted

# A plan that is older is refused, or made anew.
AGE_MAX_HOURS = 1.0


@dataclass(eq=False)
class NotAgreed(Exception):
    """The operator was asked, and did not say yes."""


@dataclass(frozen=True, slots=True)
class Again:
    """What to do, in words, about steps that a run did not come to, and about refused ones."""

    stopped: str
    refused: str


OF_A_PLAN = Again("apply the same plan again", "trueup apply PLAN --replan, or make a new plan")
OF_A_COMMAND = Again("give the same command again", "give the same command again")


def follow(run: Run, report: Report, again: Again = OF_A_PLAN) -> list[StepOutcome]:
    """All outcomes of a run. If the run stops early, what it did is printed before the error."""
    outcomes: list[StepOutcome] = []
    if run.finished and run.name:
        say(f"Run {run.name} was finished before; nothing is written now.")
    try:
        for outcome in run.outcomes:
            outcomes.append(outcome)
            report("steps", len(outcomes), run.steps)
    except BaseException:
        attempted = run.attempted()
        say(f"Run {run.name} stopped: {len(attempted)} of {counted(run.steps, 'step')} attempted.")
        conclude(run, attempted, again=again)
        say(f"To continue it: {again.stopped}.")
        raise
    return outcomes


def conclude(
    run: Run, outcomes: Sequence[StepOutcome], permanent: str = "", again: Again = OF_A_PLAN
) -> ExitCode:
    """Say how many steps ended in which way, and how to take them back.

    `permanent` says what cannot be taken back once every step is done.
    """
    results = Counter(outcome.result for _, outcome in outcomes)
    unknown = f", {results['unknown']} unknown" if results["unknown"] else ""
    say(
        f"Run {run.name}: {counted(results['done'], 'step')} done, "
        f"{results['refused']} refused{unknown}."
    )
    if results["unknown"]:
        say(
            "Unknown: the write was not answered, and may have been made or still come. "
            f"To find out which: {again.stopped}, or take the run back."
        )
    if contested := sum(1 for _, outcome in outcomes if outcome.contested):
        say(
            f"{counted(contested, 'step')} may be somebody else's work; the reason says why. An "
            "undo of this run leaves such a step in place, unless --step names it."
        )
    every = results["done"] == len(outcomes)
    if (results["done"] or results["unknown"]) and not (every and permanent):
        say(f"To take it back: trueup undo {run.name}")
    if results["refused"]:
        say(f"To try refused steps again: {again.refused}.")
    return ExitCode.CLEAN if every else ExitCode.SOME_REFUSED


def tell_unsettled(steps: Sequence[OpenStep]) -> bool:
    """Say which steps of an earlier run may still be written; whether there are any."""
    for step in steps:
        say(
            f"Step {step.id} was about to be written when run {step.run} ended. It is not written "
            "so far, but may still be: give the same command again in two minutes."
        )
    return bool(steps)


def tell_unread(run: str, folder: Path) -> None:
    """Say which journals cannot be read, and may be of an undo of a run. Raises as `read`."""
    for one in unread_since(run, folder):
        say(
            f"Not read: journal {one.run}: {one.reason}. Whether it is of an undo of run {run}, "
            "and took back a step, is not known."
        )


def tell_open(undo: Run, undone: str) -> None:
    """Say which steps of an undone run, or of earlier undos of it, may still be written.

    And which it leaves as they are: they may be somebody else's work, or cannot be taken back.
    """
    for step in undo.open:
        what, past = "written", f"when run {step.run} ended"
        if step.takes_back:
            what, past = "taken back", f"by run {step.run} when that ended"
        say(
            f"Step {step.id} was about to be {what} {past}. It is not {what} so far, but may "
            f"still be: run 'trueup undo {undone}' again in two minutes."
        )
    for one in undo.left_in_place:
        say(
            f"Step {one.id} is left in place: it may be somebody else's work. To take it back all "
            f"the same: trueup undo {undone} --step {one.id}"
        )
    for one, outcome in undo.partly:
        say(f"Step {one.id} is not taken back: {outcome.reason}.")


def code_of(outcomes: Iterable[StepOutcome]) -> ExitCode:
    """The exit code of several runs, where a later run may do steps that an earlier one refused."""
    attempts = tuple(outcomes)
    done = {one for step, outcome in attempts if outcome.result == "done" for one in step.subjects}
    every = all(step.subjects <= done for step, _ in attempts)
    return ExitCode.CLEAN if every else ExitCode.SOME_REFUSED


def add_limit_option(parser: argparse.ArgumentParser) -> None:
    """--limit, for the commands that write."""
    parser.add_argument(
        "--limit",
        metavar="SUBJECTS",
        type=int,
        help="how many consumers, providers … may be touched "
        "(default: 25, or 1 %% of consumers if more)",
    )


def add_interval_option(parser: argparse._ActionsContainer) -> None:
    """--interval, for the commands that observe twice."""
    parser.add_argument(
        "--interval",
        metavar="SECONDS",
        type=float,
        default=INTERVAL_SECONDS,
        help="time between the two observations (default: %(default)s)",
    )


def add_writing_options(parser: argparse.ArgumentParser) -> None:
    """--yes, --concurrency and --rate, for the commands that write."""
    parser.add_argument(
        "--yes", action="store_true", help="write without asking; in a pipe nothing is asked anyway"
    )
    parser.add_argument(
        "--concurrency",
        metavar="STEPS",
        type=int,
        default=1,
        help="how many steps are written side by side (default: %(default)s)",
    )
    parser.add_argument(
        "--rate",
        metavar="STEPS",
        type=float,
        help="how many steps are begun in a second at most (default: unlimited)",
    )


def pace_of(arguments: argparse.Namespace) -> Pace:
    """What --concurrency and --rate say."""
    return Pace(arguments.concurrency, arguments.rate)


def ask(arguments: argparse.Namespace, plan: Plan, cloud: Cloud) -> None:
    """Ask once, at a terminal, whether a plan is to be written. Raises NotAgreed."""
    _ask(
        arguments,
        f"Write {counted(len(plan.steps), 'step')} that touch "
        f"{counted(len(plan.subjects), 'subject')} to {cloud.placement.endpoint()}?",
    )


def ask_undo(arguments: argparse.Namespace, journal: Journal) -> None:
    """Ask once, at a terminal, whether a run is to be taken back. Raises NotAgreed."""
    steps = arguments.step or [one for one in journal.in_place if not one[1].contested]
    _ask(arguments, f"Take back {counted(len(steps), 'step')} of run {journal.run}?")


def confirm(arguments: argparse.Namespace, question: str) -> None:
    """Ask once, at a terminal, whether to do what a question says. Raises NotAgreed."""
    _ask(arguments, question)


def tell_plan(planned: Planned) -> None:
    """How many steps there are for how many findings, and what was declined, with the reason."""
    plan, providers = planned.plan, planned.second.facts.providers
    say(f"{counted(len(plan.steps), 'step')} for {counted(len(plan.findings), 'finding')}.")
    for one in plan.declined:
        say(f"No step for {one.finding.id}: {one.reason}.")
    for number, step in enumerate(plan.steps, 1):
        if reason := not_restorable(step, providers):
            say(f"Step {number} cannot be taken back: {reason}.")


def _ask(arguments: argparse.Namespace, question: str) -> None:
    if arguments.yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotAgreed
