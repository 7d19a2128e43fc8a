# SPDX-License-Identifier: Apache-2.0
"""Rows on standard output: a table for people, and forms for programs."""

import argparse
import csv
import json
import sys
from collections.abc import Callable, Mapping, Sequence

from prettytable import PrettyTable

Row = Sequence[str]
_Form = Callable[[Sequence[str], Sequence[Row]], str]


def add_format(parser: argparse.ArgumentParser) -> None:
    """The option that chooses the form."""
    parser.add_argument(
        "-f",
        "--format",
        choices=sorted(_FORMATS),
        default="table",
        help="how to print what was found (default: %(default)s)",
    )


def write(columns: Sequence[str], rows: Sequence[Row], form: str) -> None:
    """Print the rows in the form that was chosen."""
    sys.stdout.write(_FORMATS[form](columns, rows))


def _as_table(columns: Sequence[str], rows: Sequence[Row]) -> str:
    if not rows:
        return "Nothing is wrong.\n"
    table = PrettyTable(columns, align="l", max_table_width=160)
    table.add_rows([list(row) for row in rows])
    return f"{table}\n"


def _as_json(columns: Sequence[str], rows: Sequence[Row]) -> str:
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    return json.dumps(found, indent=2) + "\n"


def _as_csv(columns: Sequence[str], rows: Sequence[Row]) -> str:
    lines = _Lines()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerows([columns, *rows])
    return "".join(lines.written)


def _as_values(_columns: Sequence[str], rows: Sequence[Row]) -> str:
    return "".join(" ".join(row) + "\n" for row in rows)


class _Lines:
    """Keeps what the csv module writes."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, text: str) -> None:
        self.written.append(text)


_FORMATS: Mapping[str, _Form] = {
    "csv": _as_csv,
    "json": _as_json,
    "table": _as_table,
    "value": _as_values,
}
