# SPDX-License-Identifier: Apache-2.0
"""Rows on standard output, with cliff's formats and options, as in OpenStack's other commands.

The command line itself is oslo.config's, because it also has the options of placement.conf.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from cliff.lister import Lister

Row = Sequence[str]


class RowLister(Lister):
    """A list of cliff without an application of cliff."""

    # argparse, to which these options are handed on, does not know cliff's own way.
    conflict_handler = "error"

    def __init__(self, columns: Sequence[str], rows: Sequence[Row] = ()):
        application: Any = SimpleNamespace(stdout=sys.stdout)
        super().__init__(application, None)
        self._columns, self._rows = columns, rows

    def take_action(self, _parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Row]]:
        return self._columns, self._rows


def options(columns: Sequence[str]) -> argparse.ArgumentParser:
    """The options of cliff for a list with these columns, to be a parent of a command's parser."""
    parser = RowLister(columns).get_parser("")
    # argparse has no public list of its options.
    for action in parser._actions:
        if action.dest in ("columns", "sort_columns"):
            action.type = _column_of(columns)
    return parser


def write(columns: Sequence[str], rows: Sequence[Row], said: Any) -> None:
    """Print the rows as the options say."""
    if not rows and said.formatter == "table":
        sys.stdout.write("Nothing is wrong.\n")
        return
    RowLister(columns, rows).run(said)


def _column_of(columns: Sequence[str]) -> Callable[[str], str]:
    """What argparse calls for the name of a column; it refuses a name that is none of these."""
    by_name = {column.lower(): column for column in columns}

    def column(text: str) -> str:
        try:
            return by_name[text.lower().replace("_", " ")]
        except KeyError:
            known = ", ".join(columns)
            raise argparse.ArgumentTypeError(
                f"there is no column {text!r}; there are: {known}"
            ) from None

    return column
