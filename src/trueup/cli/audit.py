# SPDX-License-Identifier: Apache-2.0
"""trueup audit: say what is wrong, write nothing."""

import argparse
from pathlib import Path

from trueup.cli.judging import add_audit_options, audit_options, summarize, verdict
from trueup.cli.progress import progress, say
from trueup.cli.sources import FactsVerb, add_from_option, kept_facts, selection
from trueup.reconcile.audit import Audit, audit
from trueup.reconcile.audit_file import save
from trueup.reconcile.files import refuse_unwritable
from trueup.reconcile.report.tables import AUDIT_COLUMNS, Columns, Table, audit_table
from trueup.reconcile.runs import Observer


class AuditCommand(FactsVerb):
    """Compare Placement with Nova's databases and name every defect, with its evidence."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_audit_options(parser)
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
        options = audit_options(arguments)
        if arguments.snapshot:
            return audit(kept_facts(arguments), options)
        with self.cloud(arguments) as cloud, progress() as report:
            return Observer(cloud, options, report, selection(arguments)).observe().audit
