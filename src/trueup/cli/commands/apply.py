# SPDX-License-Identifier: Apache-2.0
"""trueup apply: write a plan, step by step, each guarded and each in the journal."""

import argparse
from datetime import timedelta
from pathlib import Path

from trueup.cli.judging import default_options
from trueup.cli.outcomes import (
    AGE_MAX_HOURS,
    add_limit_option,
    add_writing_options,
    ask,
    code_of,
    conclude,
    follow,
    pace_of,
    tell_plan,
    tell_unread,
)
from trueup.cli.terminal.progress import Report, progress, wait
from trueup.cli.verb import CloudVerb, add_state_option
from trueup.reconcile.clock import now
from trueup.reconcile.plan import Plan, refuse_too_large, refuse_unfit
from trueup.reconcile.plan.plan_file import load
from trueup.reconcile.report.tables import OUTCOME_COLUMNS, Columns, Table, outcome_table
from trueup.reconcile.runs import INTERVAL_SECONDS, Observer, applied, plan_again
from trueup.reconcile.runs.journal import StepOutcome
from trueup.reconcile.sources.cloud import Cloud


class ApplyCommand(CloudVerb):
    """Write the steps of a plan. Apply the same plan again to continue after an interruption."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("plan", metavar="PLAN", type=Path, help="a file of 'trueup plan --out'")
        add_state_option(parser)
        add_limit_option(parser)
        add_writing_options(parser)
        parser.add_argument(
            "--replan",
            metavar="SECONDS",
            type=float,
            nargs="?",
            const=INTERVAL_SECONDS,
            help="plan refused steps again, with two new observations this many seconds apart "
            "(%(const)s if not given), and apply that plan too",
        )
        parser.add_argument(
            "--max-age",
            metavar="HOURS",
            type=float,
            default=AGE_MAX_HOURS,
            help="how old the plan may be (default: %(default)s)",
        )
        return parser

    def columns(self, arguments: argparse.Namespace) -> Columns:
        return OUTCOME_COLUMNS

    def act(self, arguments: argparse.Namespace) -> Table:
        plan = load(arguments.plan)
        refuse_too_large(plan, arguments.limit)
        with self.cloud(arguments) as cloud:
            cells = [cell.uuid for cell in cloud.nova.cells()]
            refuse_unfit(plan, cells, now(), timedelta(hours=arguments.max_age))
            tell_unread(plan.id, arguments.state_dir)
            ask(arguments, plan, cloud)
            with progress() as report:
                outcomes = self._apply(plan, cloud, arguments, report)
                refused = any(outcome.result == "refused" for _, outcome in outcomes)
                if arguments.replan and refused:
                    outcomes += self._again(outcomes, cloud, arguments, report)
                    self.exit_code = code_of(outcomes)
        return outcome_table(outcomes)

    def _apply(
        self, plan: Plan, cloud: Cloud, arguments: argparse.Namespace, report: Report
    ) -> list[StepOutcome]:
        with applied(plan, cloud, arguments.state_dir, pace_of(arguments)) as run:
            outcomes = follow(run, report)
        self.exit_code = conclude(run, outcomes)
        return outcomes

    def _again(
        self,
        outcomes: list[StepOutcome],
        cloud: Cloud,
        arguments: argparse.Namespace,
        report: Report,
    ) -> list[StepOutcome]:
        """Plan the refused steps again, with two new observations, and apply that plan."""
        observer = Observer(cloud, default_options(), report)
        interval = timedelta(seconds=arguments.replan)
        planned = plan_again(observer, outcomes, interval, lambda left: wait(left, report))
        tell_plan(planned)
        if not planned.plan.steps:
            return []
        refuse_too_large(planned.plan, arguments.limit)
        return self._apply(planned.plan, cloud, arguments, report)
