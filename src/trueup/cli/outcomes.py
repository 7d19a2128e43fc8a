# SPDX-License-Identifier: Apache-2.0
"""A run as the operator follows it: progress, and what happened, however it ends."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trueup.cli.progress import Report, say
from trueup.exit_codes import ExitCode
from trueup.reconcile.findings import counted
from trueup.reconcile.journal import Journal, StepOutcome
from trueup.reconcile.pace import Pace
from trueup.reconcile.plan import Plan
from trueup.reconcile.runs import INTERVAL_SECONDS, Run
from trueup.reconcile.sources.cloud import Cloud

# A plan that is older is refused, or made anew.
AGE_MAX_HOURS = 1.0


@dataclass(eq=False)
class NotAgreed(Exception):
    """The operator was asked, and did not say yes."""


def follow(run: Run, report: Report) -> list[StepOutcome]:
    """All outcomes of a run. If the run stops early, what it did is printed before the error."""
    outcomes: list[StepOutcome] = []
    if run.finished and run.name:
        say(f"Run {run.name} was finished before; nothing is written now.")
    try:
        for outcome in run.outcomes:
            outcomes.append(outcome)
            report("steps", len(outcomes), run.steps)
    except BaseException:
        say(f"Run {run.name} stopped at step {min(len(outcomes) + 1, run.steps)} of {run.steps}.")
        conclude(run, run.attempted())
        say("To continue it: apply the same plan again.")
        raise
    return outcomes


def conclude(run: Run, outcomes: Sequence[StepOutcome], permanent: str = "") -> ExitCode:
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
            "Apply the plan again, or undo the run, to find out which."
        )
    every = results["done"] == len(outcomes)
    if (results["done"] or results["unknown"]) and not (every and permanent):
        say(f"To take it back: trueup undo {run.name}")
    if results["refused"]:
        say("To plan refused steps again: trueup apply PLAN --replan, or make a new plan.")
    return ExitCode.CLEAN if every else ExitCode.SOME_REFUSED


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
    steps = arguments.step or [step.id for step, _ in journal.in_place]
    _ask(arguments, f"Take back {counted(len(steps), 'step')} of run {journal.run}?")


def confirm(arguments: argparse.Namespace, question: str) -> None:
    """Ask once, at a terminal, whether to do what a question says. Raises NotAgreed."""
    _ask(arguments, question)


def tell_plan(plan: Plan) -> None:
    """How many steps there are for how many findings, and what was declined, with the reason."""
    say(f"{counted(len(plan.steps), 'step')} for {counted(len(plan.findings), 'finding')}.")
    for one in plan.declined:
        say(f"No step for {one.finding.id}: {one.reason}.")


def _ask(arguments: argparse.Namespace, question: str) -> None:
    if arguments.yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotAgreed
