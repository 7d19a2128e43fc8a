# SPDX-License-Identifier: Apache-2.0
"""trueup apply: write a plan, step by step, each guarded and each in the journal."""

import argparse
from datetime import timedelta
from pathlib import Path

from trueup.cli.outcomes import add_limit_option, conclude, follow
from trueup.cli.progress import progress
from trueup.cli.verb import CloudVerb, add_state_option
from trueup.reconcile.clock import now
from trueup.reconcile.plan import refuse_too_large, refuse_unfit
from trueup.reconcile.plan_file import load
from trueup.reconcile.report.tables import OUTCOME_COLUMNS, Columns, Table, outcome_table
from trueup.reconcile.runs import applied

AGE_MAX_HOURS = 1.0


class ApplyCommand(CloudVerb):
    """Write the steps of a plan. Apply the same plan again to go on after an interruption."""

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

    def columns(self, arguments: argparse.Namespace) -> Columns:
        return OUTCOME_COLUMNS

    def act(self, arguments: argparse.Namespace) -> Table:
        plan = load(arguments.plan)
        refuse_too_large(plan, arguments.limit)
        with self.cloud(arguments) as cloud, progress() as report:
            cells = [cell.uuid for cell in cloud.nova.cells()]
            refuse_unfit(plan, cells, now(), timedelta(hours=arguments.max_age))
            with applied(plan, cloud, arguments.state_dir) as run:
                outcomes = follow(run, report)
        self.exit_code = conclude(run, outcomes)
        return outcome_table(outcomes)
