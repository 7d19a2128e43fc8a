# SPDX-License-Identifier: Apache-2.0
"""trueup report: an audit as one HTML page, for people."""

import argparse
from importlib.metadata import version
from pathlib import Path

from trueup.cli.counted import placeables
from trueup.cli.judging import add_audit_options, audit_options, summarize, verdict
from trueup.cli.sources import FactsVerb, add_from_option
from trueup.cli.terminal.given import complete
from trueup.cli.terminal.progress import say
from trueup.cli.verb import add_state_option
from trueup.reconcile.files import refuse_unwritable, write
from trueup.reconcile.page.html import html_of
from trueup.reconcile.page.page import page_of, with_commands
from trueup.reconcile.report.tables import Table
from trueup.reconcile.rules.host_states import host_states
from trueup.reconcile.runs.journals import runs

_COLUMNS = ("File", "Hosts", "Findings", "Not checked", "Silent sources")


class ReportCommand(FactsVerb):
    """Audit, and write what was found to one HTML page, without network or script."""

    COLUMNS = _COLUMNS

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--html", metavar="FILE", type=Path, required=True, help="the page to write"
        )
        add_audit_options(parser)
        add_from_option(parser)
        add_state_option(parser)
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        refuse_unwritable(arguments.html)
        seen = self.observed(arguments, audit_options(arguments))
        origin = f"Snapshot {arguments.snapshot}" if arguments.snapshot else "The cloud"
        fits = placeables(self, arguments, seen)
        page = page_of(seen, runs(arguments.state_dir), origin, version("trueup"), fits)
        # A snapshot names no cloud: its commands are for those who have it.
        where = ", on a controller of that cloud" if arguments.snapshot else ""
        page = with_commands(page, complete, where)
        write(arguments.html, html_of(page))
        audit = seen.audit
        summarize(audit)
        say(host_states(seen.facts).words)
        say(f"Open {arguments.html} in a browser.")
        self.exit_code = verdict(audit, bool(audit.findings))
        hosts = sum(len(cell.hosts) for cell in page.cells)
        counts = (len(audit.findings), len(audit.unchecked), len(audit.coverage.missing))
        return _COLUMNS, [(str(arguments.html), hosts, *counts)]
