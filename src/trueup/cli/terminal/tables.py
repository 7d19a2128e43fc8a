# SPDX-License-Identifier: Apache-2.0
"""Tables for people, in the available width: lines are wrapped, and words are never broken.

A uuid that is split across two lines cannot be copied. Where not even the longest words fit next to
each other, each row is a block of lines.
"""

import argparse
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

from cliff.columns import FormattableColumn
from cliff.formatters.table import TableFormatter
from cliff.utils import terminal_width

# What a table needs besides the cells: a border at the left, and a border and two spaces for each.
_BORDER, _FOR_EACH_COLUMN = 1, 3
_ENDLESS = 1_000_000
_INDENT = "  "


class FittedTable(TableFormatter):
    """cliff's table, but for how it is made narrower."""

    def emit_list(
        self,
        column_names: Sequence[str],
        rows: Iterable[Sequence[Any]],
        stdout: TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        texts = [[_text(cell) for cell in row] for row in rows]
        limit = line_width(parsed_args)
        widths = fitted(column_names, texts, limit) if limit else _natural(column_names, texts)
        if widths is None:
            stdout.writelines(f"{line}\n" for line in blocks(column_names, texts, limit))
            return
        wrapped = [
            [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
            for row in texts
        ]
        # A table that fits is not made narrower by cliff.
        unlimited = argparse.Namespace(**{**vars(parsed_args), "max_width": _ENDLESS})
        super().emit_list(column_names, wrapped, stdout, unlimited)


def fitted(names: Sequence[str], rows: Sequence[Sequence[Any]], limit: int) -> list[int] | None:
    """The width of each column so that a table has at most `limit` characters in a line.

    None: its longest words do not fit beside each other.
    """
    natural, least = _natural(names, rows), _longest_words(names, rows)
    spare = limit - _BORDER - _FOR_EACH_COLUMN * len(names) - sum(least)
    if spare < 0:
        return None
    widths = list(least)
    # The columns that lack least are filled first, so that few columns are wrapped.
    order = sorted(range(len(names)), key=lambda number: natural[number] - least[number])
    for position, number in enumerate(order):
        share = spare // (len(order) - position)
        more = min(natural[number] - least[number], share)
        widths[number] += more
        spare -= more
    return widths


def blocks(names: Sequence[str], rows: Sequence[Sequence[Any]], limit: int) -> Iterator[str]:
    """Each row as lines `Name: text`, with an empty line between rows."""
    for number, row in enumerate(rows):
        if number:
            yield ""
        for name, cell in zip(names, row, strict=True):
            lines = str(cell).splitlines()
            if not lines:
                continue
            first, *others = lines if len(lines) == 1 else ["", *lines]
            yield from _lines(f"{name}: {first}".rstrip(), limit, "", _INDENT)
            for line in others:
                yield from _lines(line, limit, _INDENT, _INDENT * 2)


def line_width(arguments: argparse.Namespace) -> int:
    """How many characters a line may have; 0: any number, as in a pipe.

    With --fit-width or CLIFF_FIT_WIDTH=1 the COLUMNS of the environment hold there too.
    """
    if arguments.max_width > 0:
        return int(arguments.max_width)
    if sys.stdout.isatty():
        return terminal_width() or 0
    return shutil.get_terminal_size().columns if arguments.fit_width else 0


def _text(cell: Any) -> Any:
    """A cell as cliff's table shows it; numbers stay numbers, which it aligns right."""
    if isinstance(cell, FormattableColumn):
        cell = cell.human_readable()
    return cell.replace("\r", " ") if isinstance(cell, str) else cell


def _wrapped(cell: Any, width: int) -> Any:
    if not isinstance(cell, str):
        return cell
    return "\n".join(line for part in cell.split("\n") for line in _lines(part, width, "", ""))


def _lines(text: str, width: int, first: str, others: str) -> list[str]:
    found = textwrap.wrap(
        text,
        width or _ENDLESS,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return found or [""]


def _natural(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[int]:
    """The longest line of each column."""
    return [
        max([len(name), *(len(line) for cell in column for line in str(cell).split("\n"))])
        for name, column in _columns(names, rows)
    ]


def _longest_words(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[int]:
    """The longest word of each column; its name is not wrapped."""
    return [
        max([len(name), *(len(word) for cell in column for word in str(cell).split())])
        for name, column in _columns(names, rows)
    ]


def _columns(
    names: Sequence[str], rows: Sequence[Sequence[Any]]
) -> Iterator[tuple[str, list[Any]]]:
    for number, name in enumerate(names):
        yield name, [row[number] for row in rows]
