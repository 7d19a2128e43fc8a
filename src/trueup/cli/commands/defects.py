# SPDX-License-Identifier: Apache-2.0
"""trueup defects: what Trueup looks for, and the page about each."""

import argparse
from importlib.resources import files
from pathlib import Path
from typing import Any

from rich.markdown import Markdown

from trueup.cli.terminal.output import PageConsole
from trueup.cli.verb import Verb
from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.report.tables import DEFECTS_COLUMNS, Table, defects_table

# In an installed package; a source tree has them in docs/.
_PACKAGED = files("trueup") / "defect_pages"
_IN_TREE = Path(__file__).parents[4] / "docs" / "defects"


class DefectsCommand(Verb):
    """List the defects that an audit looks for, and the remedy of each; or show the page of one."""

    COLUMNS = DEFECTS_COLUMNS

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "name",
            metavar="NAME",
            nargs="?",
            choices=[defect.NAME for defect in DEFECTS],
            help="show the page about this defect",
        )
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        columns, rows = defects_table()
        return columns, [row for row in rows if arguments.name in (None, row[0])]

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Any, rows: Any) -> int:
        asks_for_rows = parsed_args.columns or parsed_args.sort_columns
        if not parsed_args.name or parsed_args.formatter != "table" or asks_for_rows:
            return super().produce_output(parsed_args, column_names, rows)
        width = parsed_args.max_width if parsed_args.max_width > 0 else None
        console = PageConsole(file=self.app.stdout, width=width)
        console.print(Markdown(page(parsed_args.name)))
        return 0


def page(name: str) -> str:
    """The page about a defect, in Markdown."""
    folder = _PACKAGED if _PACKAGED.is_dir() else _IN_TREE
    return (folder / f"{name}.md").read_text(encoding="utf-8")
