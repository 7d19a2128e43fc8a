# SPDX-License-Identifier: Apache-2.0
"""trueup apply: write a plan, step by step, each guarded and each in the journal."""

import argparse
from datetime import timedelta
from pathlib import Path

from trueup.cli.progress import Report, progress, say
from trueup.cli.verb import CloudVerb, add_state_option
from trueup.exit_codes import ExitCode
from trueup.reconcile.apply import apply, require_answers
from trueup.reconcile.clock import now
from trueup.reconcile.journal import Settled, opened
from trueup.reconcile.plan import Plan, refuse_too_large, refuse_unfit
from trueup.reconcile.plan_file import load
from trueup.reconcile.report.tables import Table, outcome_table
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import Step

AGE_MAX_HOURS = 24.0


class ApplyCommand(CloudVerb):
    """Write the steps of a plan. Apply the same plan again to go on after an interruption."""

    writes = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("plan", metavar="PLAN", type=Path, help="a file of 'trueup plan --out'")
        add_state_option(parser)
        add_limit_option(parser)
        parser.add_argument(
            "--max-age",
            metavar="HOURS",
            type=float,
            default=AGE_MAX_HOURS,
            help="how old the plan may be (default: %(default)s)",
        )
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        plan = load(arguments.plan)
        refuse_too_large(plan, arguments.limit)
        with self.cloud(arguments) as cloud, progress() as report:
            cells = [cell.uuid for cell in cloud.nova.cells()]
            refuse_unfit(plan, cells, now(), timedelta(hours=arguments.max_age))
            outcomes = run(plan, cloud, arguments.state_dir, report)
        self.exit_code = conclude(plan, outcomes)
        return outcome_table(outcomes)


def run(plan: Plan, cloud: Cloud, folder: Path, report: Report) -> list[tuple[Step, Settled]]:
    """Apply a plan with its journal in a folder, showing progress."""
    require_answers(plan, cloud)
    outcomes = []
    with opened(plan, folder) as journal:
        if journal.finished:
            say(f"Run {plan.id} was finished before; nothing is written now.")
        for outcome in apply(plan, cloud, journal):
            outcomes.append(outcome)
            report("steps", len(outcomes), len(plan.steps))
    return outcomes


def conclude(plan: Plan, outcomes: list[tuple[Step, Settled]]) -> ExitCode:
    """Say how many steps were written and how to take them back."""
    done = sum(1 for _, settled in outcomes if settled.result == "done")
    say(f"Run {plan.id}: {done} steps done, {len(outcomes) - done} refused.")
    if done:
        say(f"To take it back: trueup undo {plan.id}")
    return ExitCode.CLEAN if done == len(outcomes) else ExitCode.SOME_REFUSED


def add_limit_option(parser: argparse.ArgumentParser) -> None:
    """--limit, for the commands that write."""
    parser.add_argument(
        "--limit",
        metavar="STEPS",
        type=int,
        help="how many steps may be written (default: 25, or 1 %% of consumers if more)",
    )
