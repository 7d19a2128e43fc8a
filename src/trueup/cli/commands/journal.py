# SPDX-License-Identifier: Apache-2.0
"""trueup journal: which runs there were, and how the steps of one ended."""

import argparse

from trueup.cli.terminal.progress import say
from trueup.cli.verb import Verb, add_state_option
from trueup.reconcile.report.tables import (
    RUN_COLUMNS,
    RUNS_COLUMNS,
    Columns,
    Table,
    run_table,
    runs_table,
)
from trueup.reconcile.runs.journals import read, runs


class JournalCommand(Verb):
    """List the runs that have a journal, or the steps of one run."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("run", metavar="RUN", nargs="?", help="one run")
        add_state_option(parser)
        return parser

    def columns(self, arguments: argparse.Namespace) -> Columns:
        return RUN_COLUMNS if arguments.run else RUNS_COLUMNS

    def act(self, arguments: argparse.Namespace) -> Table:
        if arguments.run:
            return run_table(read(arguments.run, arguments.state_dir))
        found = runs(arguments.state_dir)
        if not found:
            say(f"There is no run in {arguments.state_dir}.")
        return runs_table(found)
