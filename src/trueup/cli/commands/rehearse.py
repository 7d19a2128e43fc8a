# SPDX-License-Identifier: Apache-2.0
"""trueup rehearse: apply a plan to a copy of the ledger, and audit again."""

import argparse
from pathlib import Path

from trueup.cli.rehearsing import rehearsed
from trueup.cli.terminal.progress import progress, say
from trueup.cli.verb import CloudVerb
from trueup.exit_codes import ExitCode
from trueup.reconcile.copies.rehearse import Rehearsal
from trueup.reconcile.plan import refuse_foreign
from trueup.reconcile.plan.plan_file import load
from trueup.reconcile.report.rehearsals import REHEARSAL_COLUMNS, rehearsal_table
from trueup.reconcile.report.tables import Table
from trueup.reconcile.wording import counted


class RehearseCommand(CloudVerb):
    """Apply a plan to a copy of the ledger, with Nova as it is now; the cloud is only read."""

    COLUMNS = REHEARSAL_COLUMNS

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("plan", metavar="PLAN", type=Path, help="a file of 'trueup plan --out'")
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        plan = load(arguments.plan)
        with self.cloud(arguments) as cloud, progress() as report:
            refuse_foreign(plan, [cell.uuid for cell in cloud.nova.cells()])
            shown = rehearsed(plan, cloud, report)
        self.exit_code = _conclude(shown)
        return rehearsal_table(shown)


def _conclude(shown: Rehearsal) -> ExitCode:
    """Say what the rehearsal showed; its exit code."""
    done = sum(1 for _, outcome in shown.outcomes if outcome.result == "done")
    say(
        f"Rehearsed: {done} of {counted(len(shown.outcomes), 'step')} done; of the findings that "
        f"the plan remedies, left: {len(shown.left)}; new: {len(shown.new)}."
    )
    if shown.unchecked:
        count = counted(len(shown.unchecked), "subject")
        say(f"{count} that could be checked before could not be checked afterwards.")
    if shown.left_out:
        say(
            f"Not rehearsed: {counted(len(shown.left_out), 'step')}; the reasons are in the table. "
            f"Not judged: {counted(len(shown.unjudged), 'finding')} that they remedy."
        )
    for answer in shown.missing:
        say(f"Did not answer: {answer.source}: {answer.reason}. What it knows was not judged.")
    if not shown.succeeded:
        return ExitCode.FINDINGS
    return ExitCode.CLEAN if shown.complete else ExitCode.INCOMPLETE
