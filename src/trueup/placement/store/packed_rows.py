# SPDX-License-Identifier: Apache-2.0
"""Many rows packed into one text by the database.

PERF: a driver takes a microsecond or more for each value, several for a time, and many for a row.
The database packs them in less time, and unpacking a value takes a tenth of a microsecond.
"""

import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, String, cast, func

_BETWEEN_PARTS = "\n"
_BETWEEN_LINES = f"\n{secrets.token_hex(4)}\n"  # nobody can put it into a name


def joined(first: ColumnElement[Any], *parts: ColumnElement[Any]) -> ColumnElement[str]:
    """All rows of a group as one text, which `rows_of` unpacks.

    `first` is a number; the rows are in its order. Only the last part may have several lines.
    """
    # Without one, as beside a provider that has no rows, there is no line.
    line: ColumnElement[str] = cast(first, String(30))
    for part in parts:
        line = line + _BETWEEN_PARTS + _text(part)
    return func.aggregate_strings(line, _BETWEEN_LINES)


def rows_of(texts: Iterable[str | None], parts: int) -> list[list[str]]:
    """The rows in these texts, each with that many parts; NULL is an empty part."""
    lines = [line for text in texts if text is not None for line in text.split(_BETWEEN_LINES)]
    rows = [line.split(_BETWEEN_PARTS, parts - 1) for line in lines]
    rows.sort(key=_order)
    return rows


def time_of(text: str) -> datetime | None:
    """The time (UTC) in a part, if there is one."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        # NULL; and MariaDB may have a day 0 in a month 0.
        return None


def _text(part: ColumnElement[Any]) -> ColumnElement[str]:
    text = part if isinstance(part.type, String) else cast(part, String(30))
    return func.coalesce(text, "")


def _order(row: list[str]) -> int:
    return int(row[0])
