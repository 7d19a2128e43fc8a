# SPDX-License-Identifier: Apache-2.0
"""trueup verify: whether what a run repaired is still repaired."""

import argparse

from trueup.cli.outcomes import code_of_verified
from trueup.cli.terminal.given import complete
from trueup.cli.terminal.progress import progress, say
from trueup.cli.verb import CloudVerb, add_state_option
from trueup.reconcile.report.tables import VERIFIED_COLUMNS, Columns, Table, verified_table
from trueup.reconcile.runs.journals import read
from trueup.reconcile.runs.verification import verify_run
from trueup.reconcile.wording import counted


class VerifyCommand(CloudVerb):
    """Read again what a run repaired: gone, still there, come back, or other. It writes nothing."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("run", metavar="RUN", help="the name 'trueup apply' printed")
        add_state_option(parser)
        return parser

    def columns(self, arguments: argparse.Namespace) -> Columns:
        return VERIFIED_COLUMNS

    def act(self, arguments: argparse.Namespace) -> Table:
        journal = read(arguments.run, arguments.state_dir)
        with self.cloud(arguments) as cloud, progress() as report:
            rows = verify_run(journal, cloud, report)
        self.exit_code = code_of_verified(rows)
        left_out = len(journal.plan.findings) - len(rows)
        say(f"Run {journal.run}: {counted(len(rows), 'repaired finding')} read again.")
        if left_out:
            say(
                f"{counted(left_out, 'finding')} of its plan not read again: a step was not done, "
                f"or was taken back. See: {complete(f'trueup journal {journal.run}')}"
            )
        return verified_table(rows)
