# SPDX-License-Identifier: Apache-2.0
"""trueup rehearse: apply a plan to a copy of the ledger, and audit again."""

import argparse
import tempfile
from pathlib import Path

from trueup.cli.terminal.progress import progress, say
from trueup.cli.verb import CloudVerb
from trueup.exit_codes import ExitCode
from trueup.lab.embedded import embedded_placement
from trueup.reconcile.collect import collect
from trueup.reconcile.copies import ledger_copy
from trueup.reconcile.copies.ledger_copy import AmountBelowOne, CopyRefused, LedgerCopy, Progress
from trueup.reconcile.copies.rehearse import LedgerNotRehearsable, Rehearsal, rehearse
from trueup.reconcile.plan import refuse_foreign
from trueup.reconcile.plan.plan_file import load
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.rehearsals import REHEARSAL_COLUMNS, rehearsal_table
from trueup.reconcile.report.tables import Table
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.wording import counted


class RehearseCommand(CloudVerb):
    """Apply a plan to a copy of the ledger and a Nova frozen as it is; the cloud is only read."""

    COLUMNS = REHEARSAL_COLUMNS

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("plan", metavar="PLAN", type=Path, help="a file of 'trueup plan --out'")
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        plan = load(arguments.plan)
        with (
            tempfile.TemporaryDirectory(prefix="trueup-rehearsal-") as name,
            self.cloud(arguments) as cloud,
            progress() as report,
            embedded_placement(Path(name)) as placement,
        ):
            refuse_foreign(plan, [cell.uuid for cell in cloud.nova.cells()])
            facts = collect(cloud, report)
            _copy(ledger_copy.read(cloud, report), Cloud(cloud.nova, placement), report)
            shown = rehearse(plan, facts, placement, Path(name) / "journal")
        self.exit_code = _conclude(shown)
        return rehearsal_table(shown)


def _copy(copied: LedgerCopy, cloud: Cloud, report: Progress) -> None:
    """Fill the embedded Placement. Raises LedgerNotRehearsable."""
    try:
        ledger_copy.write(copied, cloud, report)
    except CopyRefused as refused:
        raise LedgerNotRehearsable(refused.part, in_words(refused.reason)) from refused
    except AmountBelowOne as one:
        reason = f"it holds {one.resource_class}={one.amount}, and Placement takes no such amount"
        raise LedgerNotRehearsable(f"consumer {one.consumer}", reason) from one


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
