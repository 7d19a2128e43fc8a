# SPDX-License-Identifier: Apache-2.0
"""A run as the operator follows it: progress, and what happened, however it ends."""

import argparse
from collections import Counter
from collections.abc import Sequence

from trueup.cli.progress import Report, say
from trueup.exit_codes import ExitCode
from trueup.reconcile.apply import Outcome
from trueup.reconcile.report.words import counted
from trueup.reconcile.runs import Run


def follow(run: Run, report: Report) -> list[Outcome]:
    """Each outcome as it comes; whatever stops the run, what happened is told first."""
    outcomes: list[Outcome] = []
    if run.finished and run.name:
        say(f"Run {run.name} was finished before; nothing is written now.")
    try:
        for outcome in run.outcomes:
            outcomes.append(outcome)
            report("steps", len(outcomes), run.steps)
    except BaseException:
        say(f"Run {run.name} stopped at step {min(len(outcomes) + 1, run.steps)} of {run.steps}.")
        conclude(run, outcomes)
        say("To go on with it: apply the same plan again.")
        raise
    return outcomes


def conclude(run: Run, outcomes: Sequence[Outcome]) -> ExitCode:
    """Say how many steps ended in which way, and how to take them back."""
    results = Counter(settled.result for _, settled in outcomes)
    unknown = f", {results['unknown']} unknown" if results["unknown"] else ""
    say(
        f"Run {run.name}: {counted(results['done'], 'step')} done, "
        f"{results['refused']} refused{unknown}."
    )
    if results["unknown"]:
        say(
            "Unknown: the write was not answered, and may have been made or still come. "
            "Apply the plan again, or undo the run, to settle it."
        )
    if results["done"] or results["unknown"]:
        say(f"To take it back: trueup undo {run.name}")
    return ExitCode.CLEAN if results["done"] == len(outcomes) else ExitCode.SOME_REFUSED


def add_limit_option(parser: argparse.ArgumentParser) -> None:
    """--limit, for the commands that write."""
    parser.add_argument(
        "--limit",
        metavar="SUBJECTS",
        type=int,
        help="how many consumers, providers … may be touched "
        "(default: 25, or 1 %% of consumers if more)",
    )
