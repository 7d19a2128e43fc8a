# SPDX-License-Identifier: Apache-2.0
"""Prints rows with cliff's formats and options, as OpenStack's other commands do.

The command line itself is oslo.config's, because it also has the options of placement.conf.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

from cliff.lister import Lister

Row = Sequence[str]


class OutputUnwritable(Exception):
    """Standard output cannot be written, for another reason than a closed pipe."""

    def __init__(self, reason: str):
        super().__init__(f"the output cannot be written: {reason}")


class RowLister(Lister):
    """A list of cliff without an application of cliff."""

    # These options become a parent of argparse's own parser, which lacks cliff's conflict handler.
    conflict_handler = "error"

    def __init__(self, columns: Sequence[str], rows: Sequence[Row] = ()):
        application: Any = SimpleNamespace(stdout=sys.stdout)
        super().__init__(application, None)
        self._columns, self._rows = columns, rows

    def take_action(self, _parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Row]]:
        return self._columns, self._rows


def options(columns: Sequence[str]) -> argparse.ArgumentParser:
    """A parent parser with cliff's options for a list with these columns."""
    parser = RowLister(columns).get_parser("")
    # argparse has no public list of its options.
    for action in parser._actions:
        if action.dest in ("columns", "sort_columns"):
            action.type = _column_of(columns)
    return parser


def write(columns: Sequence[str], rows: Sequence[Row], said: Any) -> None:
    """Print the rows in the format of the options. Raises OutputUnwritable."""
    with printing():
        if not rows and said.formatter == "table":
            sys.stdout.write("Nothing is wrong.\n")
            return
        RowLister(columns, rows).run(said)


@contextmanager
def printing() -> Iterator[None]:
    """Flush standard output at the end of the block. Raises OutputUnwritable.

    A closed pipe (`trueup-manage db fsck | head`) is not an error.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
    except OSError as error:
        if error.filename is not None:
            raise
        _discard_output()
        raise OutputUnwritable(error.strerror or str(error)) from error


def _discard_output() -> None:
    """Discard the rest, which the interpreter would write when it ends."""
    # In a test, standard output is not a file.
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _column_of(columns: Sequence[str]) -> Callable[[str], str]:
    """A type for argparse that accepts the names of these columns."""
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
