# SPDX-License-Identifier: Apache-2.0
"""trueup audit: say what is wrong, write nothing."""

import argparse
from pathlib import Path

from trueup.cli.progress import progress, say
from trueup.cli.sources import FactsVerb, add_from_option, kept_facts, selection
from trueup.exit_codes import ExitCode
from trueup.reconcile.audit import Audit, audit
from trueup.reconcile.audit_file import save
from trueup.reconcile.facts import SourceStatus
from trueup.reconcile.files import refuse_unwritable
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.report.tables import AUDIT_COLUMNS, Columns, Table, audit_table
from trueup.reconcile.report.words import counted
from trueup.reconcile.runs import Observer

# How many rows that were not understood are shown of each source.
UNREAD_SHOWN_MAX = 10


class AuditCommand(FactsVerb):
    """Compare Placement with Nova's databases and name every defect, with its evidence."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_grace_option(parser)
        add_from_option(parser)
        parser.add_argument(
            "--all", action="store_true", help="also show what was left alone, and why"
        )
        parser.add_argument(
            "--save", metavar="FILE", type=Path, help="keep this look, for 'trueup plan --first'"
        )
        return parser

    def columns(self, arguments: argparse.Namespace) -> Columns:
        return AUDIT_COLUMNS

    def act(self, arguments: argparse.Namespace) -> Table:
        if arguments.save:
            refuse_unwritable(arguments.save)
        result = self._audit(arguments)
        if arguments.save:
            save(result, arguments.save)
        summarize(result)
        if result.findings:
            say("Next: trueup plan --out plan.json")
        self.exit_code = verdict(result, bool(result.findings))
        return audit_table(result, arguments.all)

    def _audit(self, arguments: argparse.Namespace) -> Audit:
        options = AuditOptions(arguments.grace)
        if arguments.snapshot:
            return audit(kept_facts(arguments), options)
        with self.cloud(arguments) as cloud, progress() as report:
            return Observer(cloud, options, report, selection(arguments)).observe().audit


def verdict(result: Audit, work: bool) -> ExitCode:
    """The exit code of a look: incomplete evidence first, lest it be taken for the whole."""
    if result.incomplete:
        return ExitCode.INCOMPLETE
    return ExitCode.FINDINGS if work else ExitCode.CLEAN


def summarize(result: Audit) -> None:
    """Two lines: who answered, and how many verdicts of each kind."""
    answered = [answer for answer in result.coverage.sources if answer.answered]
    say("Answered: " + ", ".join(f"{row.source} ({row.rows} rows)" for row in answered))
    for answer in result.coverage.missing:
        say(f"Did not answer: {answer.source}: {answer.reason}")
    for answer in result.coverage.behind:
        say(f"May be behind: {answer.source}: {answer.behind}")
    for answer in answered:
        _tell_gaps(answer)
    say(
        f"{counted(len(result.findings), 'finding')}, "
        f"{len(result.unchecked) + len(result.coverage.missing)} could not be checked, "
        f"{len(result.left_alone)} left alone."
    )


def _tell_gaps(answer: SourceStatus) -> None:
    """What of an answer is not in the facts: the first rows, and how many there are."""
    if answer.unread_rows:
        lost = f", {answer.lost_rows} of them not at all" if answer.lost_rows else ""
        say(f"Not understood in {answer.source}: {answer.unread_rows} values{lost}.")
    for row in answer.unread[:UNREAD_SHOWN_MAX]:
        say(f"  {row.table} {row.row} {row.column or '(the whole row)'}: {row.reason}")
    if len(answer.unread) > UNREAD_SHOWN_MAX:
        say("  … and more: 'trueup audit --save FILE' keeps them.")
    if answer.unsupported:
        say(f"{answer.source} has no " + ", ".join(one.what for one in answer.unsupported))


def add_grace_option(parser: argparse.ArgumentParser) -> None:
    """--grace, for the commands that judge."""
    parser.add_argument(
        "--grace",
        metavar="SECONDS",
        type=int,
        default=AuditOptions().grace_seconds,
        help="how long a deleted instance is left to nova-compute (default: %(default)s)",
    )
