# SPDX-License-Identifier: Apache-2.0
"""trueup undo: take a run back, by applying its inverse."""

import argparse

from trueup.cli.driving import Driver
from trueup.cli.outcomes import (
    add_limit_option,
    add_writing_options,
    ask_undo,
    pace_of,
    tell_unread,
)
from trueup.cli.terminal.progress import progress
from trueup.cli.trail import trail_of
from trueup.cli.verb import CloudVerb, add_state_option
from trueup.reconcile.report.tables import OUTCOME_COLUMNS, Table, outcome_table
from trueup.reconcile.runs import Chosen
from trueup.reconcile.runs.journals import read


class UndoCommand(CloudVerb):
    """Take back the steps of a run; a step whose target has changed since is refused by name."""

    COLUMNS = OUTCOME_COLUMNS

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("run", metavar="RUN", help="the name 'trueup apply' printed")
        parser.add_argument(
            "--step",
            metavar="STEP",
            action="append",
            default=[],
            help="only this step, by its number or id in 'trueup journal RUN'",
        )
        add_state_option(parser)
        add_limit_option(parser)
        add_writing_options(parser)
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        folder = arguments.state_dir
        tell_unread(arguments.run, folder)
        journal = read(arguments.run, folder)
        ask_undo(arguments, journal)
        chosen = Chosen(arguments.step, arguments.limit)
        trail = trail_of(arguments)
        with self.cloud(arguments) as cloud, progress() as report:
            driver = Driver(cloud, folder, report, pace_of(arguments), trail=trail)
            ended = driver.take_back(arguments.run, chosen)
        self.exit_code = ended.code
        return outcome_table(ended.outcomes, journal.plan.names)
