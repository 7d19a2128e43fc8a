# SPDX-License-Identifier: Apache-2.0
"""trueup audit: report what is wrong, and write nothing to the cloud."""

import argparse
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trueup.cli.documents import DocumentVerb
from trueup.cli.judging import add_audit_options, summarize, verdict
from trueup.cli.muting import add_mute_options, mute, options_with_mute, refuse_half_a_mute
from trueup.cli.sources import FactsVerb, add_from_option
from trueup.cli.terminal.given import complete
from trueup.cli.terminal.options import OptionRefused
from trueup.cli.terminal.progress import say
from trueup.reconcile.audit import remarks
from trueup.reconcile.audit.audit_file import save
from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.files import refuse_unwritable
from trueup.reconcile.report.audit_document import NEXT_PLAN, audit_document, next_command
from trueup.reconcile.report.audit_table import audit_columns, audit_table
from trueup.reconcile.report.audit_view import AuditView, ShownAudit, shown
from trueup.reconcile.report.effects import FindingEffect, effects_of
from trueup.reconcile.report.sarif import sarif
from trueup.reconcile.report.tables import Columns, Table
from trueup.reconcile.verdicts import Severity

_SARIF = "sarif"


class AuditCommand(DocumentVerb, FactsVerb):
    """Compare Placement with Nova's databases and name every defect, with its evidence."""

    _shown: ShownAudit
    _effects: Mapping[str, FindingEffect]
    # Where a plan is to be made, if not here.
    _where: str

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        for action in parser._actions:
            if action.dest == "formatter":
                action.choices = [*(action.choices or ()), _SARIF]
        add_audit_options(parser)
        add_from_option(parser)
        _add_view_options(parser)
        parser.add_argument(
            "--save",
            metavar="FILE",
            type=Path,
            help="save this observation, for 'trueup plan --first'",
        )
        add_mute_options(parser)
        return parser

    def check(self, arguments: argparse.Namespace) -> None:
        super().check(arguments)
        if self._sarif and (arguments.columns or arguments.sort_columns):
            raise OptionRefused("--format sarif", "it has no columns; leave them out")
        if self._sarif and arguments.all:
            raise OptionRefused("--all", "a SARIF document has findings only; leave it out")
        refuse_half_a_mute(arguments)

    def run(self, parsed_args: argparse.Namespace) -> int:
        # cliff knows no format of this name; what is printed is a JSON document as well.
        self._sarif = parsed_args.formatter == _SARIF
        if self._sarif:
            parsed_args.formatter = "json"
        return super().run(parsed_args)

    def columns(self, arguments: argparse.Namespace) -> Columns:
        return audit_columns(arguments.by)

    def act(self, arguments: argparse.Namespace) -> Table:
        if arguments.save:
            refuse_unwritable(arguments.save)
        seen = self.observed(arguments, options_with_mute(arguments))
        result = mute(seen.audit, arguments) if arguments.mute else seen.audit
        if arguments.save:
            save(result, arguments.save)
        self._shown = shown(result, _view(arguments), remarks(seen.facts, result))
        listed = (*self._shown.findings, *(muted.finding for muted in result.muted))
        self._effects = effects_of(listed, seen.facts, result.findings)
        summarize(result, self._shown.hidden, self._shown.right)
        # SAFETY: a plan is of a cloud, which need not be the one that this command would find here.
        self._where = ", on a controller of that cloud" if arguments.snapshot else ""
        if result.findings:
            say(f"Next{self._where}: {complete(NEXT_PLAN)}")
        self.exit_code = verdict(result, bool(self._shown.findings))
        return audit_table(self._shown, self._effects, seen.facts.alive)

    def document(self) -> Mapping[str, Any]:
        if self._sarif:
            return sarif(self._shown, self._effects, version("trueup"))
        plan = next_command(f"plan a repair{self._where}", complete(NEXT_PLAN))
        return audit_document(self._shown, self._effects, version("trueup"), plan)


def _add_view_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "what is shown", "These change no verdict. Findings that a filter hides are counted."
    )
    group.add_argument(
        "--all",
        action="store_true",
        help="also show what was left alone and why, and what is right",
    )
    group.add_argument(
        "--by",
        choices=("severity", "host", "defect"),
        default="severity",
        help="order the findings: the worst first, or by host or defect (default: %(default)s)",
    )
    group.add_argument(
        "--defect",
        dest="defects",
        metavar="NAME",
        choices=[defect.NAME for defect in DEFECTS],
        action="append",
        default=[],
        help="only findings of this defect; may be given several times. "
        "'trueup defects' lists them",
    )
    group.add_argument(
        "--severity",
        choices=[severity.value for severity in Severity],
        help="only findings that are as bad as this, or worse",
    )


def _view(arguments: argparse.Namespace) -> AuditView:
    return AuditView(
        defects=frozenset(arguments.defects),
        severity=Severity(arguments.severity) if arguments.severity else None,
        everything=arguments.all,
        order=arguments.by,
    )
