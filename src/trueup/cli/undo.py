# SPDX-License-Identifier: Apache-2.0
"""trueup undo: take a run back, by applying its inverse."""

import argparse

from trueup.cli.apply import add_limit_option, conclude, run
from trueup.cli.progress import progress
from trueup.cli.verb import CloudVerb, add_state_option
from trueup.reconcile.apply import settle_interrupted
from trueup.reconcile.journal import opened, read
from trueup.reconcile.plan import refuse_foreign, refuse_too_large
from trueup.reconcile.report.tables import Table, outcome_table
from trueup.reconcile.undo import inverse


class UndoCommand(CloudVerb):
    """Give back what the steps of a run changed, and refuse by name what has changed since."""

    writes = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("run", metavar="RUN", help="the name 'trueup apply' printed")
        add_state_option(parser)
        add_limit_option(parser)
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        undone = read(arguments.run, arguments.state_dir).plan
        with self.cloud(arguments) as cloud, progress() as report:
            refuse_foreign(undone, [cell.uuid for cell in cloud.nova.cells()])
            with opened(undone, arguments.state_dir) as journal:
                settle_interrupted(cloud, journal)
                plan = inverse(journal)
            refuse_too_large(plan, arguments.limit)
            outcomes = run(plan, cloud, arguments.state_dir, report)
        self.exit_code = conclude(plan, outcomes)
        return outcome_table(outcomes)
