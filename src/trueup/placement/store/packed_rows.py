# SPDX-License-Identifier: Apache-2.0
"""Rows packed into texts by the database: the columns of one row, or all columns of many rows.

PERF: a driver takes a microsecond or more for each value, several for a time, many for a row, and
ten for each column of a result. The database packs them in less time, and unpacking a value takes a
tenth of a microsecond.
"""

import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, String, cast, func, literal_column

# Names of classes and traits may end with a line break, and times contain a space.
_BETWEEN_PARTS = "|"
_BETWEEN_LINES = f"\n{secrets.token_hex(4)}\n"  # nobody can put it into a name

# PERF: not parameters; PyMySQL escapes each of them in each statement.
_BETWEEN: ColumnElement[str] = literal_column(f"'{_BETWEEN_PARTS}'", String)
_NOTHING: ColumnElement[str] = literal_column("''", String)


def packed(*parts: ColumnElement[Any]) -> ColumnElement[str]:
    """A row as one text, which `parts_of` unpacks. At most the last part may contain any text."""
    return _line([_text(part) for part in parts])


def parts_of(text: str, count: int = 0) -> list[str]:
    """The parts of a row that `packed` made; NULL is an empty part.

    With a count of parts, the last one may contain any text.
    """
    return text.split(_BETWEEN_PARTS, count - 1)


def joined(first: ColumnElement[Any], *parts: ColumnElement[Any]) -> ColumnElement[str]:
    """All rows of a group as one text, which `rows_of` unpacks.

    `first` is a number; the rows are in its order. Only the last part may contain any text.
    """
    # Without one, as beside a provider that has no rows, there is no line.
    line = _line([cast(first, String(30)), *(_text(part) for part in parts)])
    return func.aggregate_strings(line, _BETWEEN_LINES)


def rows_of(texts: Iterable[str | None], parts: int) -> list[list[str]]:
    """The rows in these texts, each with that many parts; NULL is an empty part."""
    lines = [line for text in texts if text is not None for line in text.split(_BETWEEN_LINES)]
    rows = [parts_of(line, parts) for line in lines]
    rows.sort(key=_order)
    return rows


def time_of(text: str) -> datetime | None:
    """The time (UTC) in a part, if there is one."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        # NULL; and MariaDB may have a day 0 in a month 0.
        return None


def _line(parts: list[ColumnElement[str]]) -> ColumnElement[str]:
    line = parts[0]
    for part in parts[1:]:
        line = line + _BETWEEN + part
    return line


def _text(part: ColumnElement[Any]) -> ColumnElement[str]:
    text = part if isinstance(part.type, String) else cast(part, String(30))
    return func.coalesce(text, _NOTHING)


def _order(row: list[str]) -> int:
    return int(row[0])
