# SPDX-License-Identifier: Apache-2.0
"""trueup plan show: a plan that was saved, as a diff."""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from trueup.cli.terminal.output import PageConsole
from trueup.cli.verb import Verb
from trueup.reconcile.plan.plan_file import load
from trueup.reconcile.report.diff import DiffLine, plan_diff
from trueup.reconcile.report.tables import PLAN_COLUMNS, Table, plan_table

_STYLES = {
    "header": "bold", "step": "bold", "removed": "red", "added": "green", "kept": "",
    "note": "dim", "declined": "yellow",
}  # fmt: skip


class PlanShowCommand(Verb):
    """Show a plan as a coloured diff; with -f json, csv, value or yaml as a table."""

    COLUMNS = PLAN_COLUMNS

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("plan", metavar="FILE", type=Path, help="a file of 'trueup plan --out'")
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        self._shown = load(arguments.plan)
        return plan_table(self._shown)

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Any, rows: Any) -> int:
        asks_for_rows = parsed_args.columns or parsed_args.sort_columns
        if parsed_args.formatter != "table" or asks_for_rows:
            return super().produce_output(parsed_args, column_names, rows)
        _print(plan_diff(self._shown), PageConsole(file=self.app.stdout, highlight=False))
        return 0


def _print(lines: Iterable[DiffLine], console: Console) -> None:
    for line in lines:
        # A uuid that is broken in two cannot be copied.
        console.print(Text(line.text, style=_STYLES[line.kind]), soft_wrap=True)
