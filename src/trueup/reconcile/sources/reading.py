# SPDX-License-Identifier: Apache-2.0
"""Converts the values of database rows, and notes each value that cannot be understood."""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from trueup.reconcile.sources.database import Row
from trueup.reconcile.sources.notes import Notes

# Some tools write this time for "never", where the column should be NULL.
_EPOCH_YEAR = 1970
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

Read = TypeVar("Read")


class Reader:
    """Converts the values of one table's rows, and notes unreadable values.

    If `uuid` or `flag` raises, `every` leaves out the row.
    """

    def __init__(self, table: str, notes: Notes, key: str = "id") -> None:
        self._table = table
        self._key = key
        self._notes = notes
        self._canonical = notes.canonical

    def every(self, read: Callable[[Row], Read], rows: Iterable[Row]) -> Iterator[Read]:
        """`read` of each row. A row that it cannot read is left out, and noted as lost."""
        for row in rows:
            try:
                value = read(row)
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
                self.note(row, "", f"{type(error).__name__}: {error}")
            else:
                yield value

    def note(self, row: Row, column: str, reason: str) -> None:
        self._notes.add(self._table, getattr(row, self._key, None), column, reason)

    def uuid(self, row: Row, column: str) -> str:
        """A UUID; "" for NULL. Raises ValueError for text that no release writes.

        SAFETY: a row with another form of a UUID is left out, so that no rule has to compare forms.
        """
        value = getattr(row, column)
        known = self._canonical.get(value)
        if known is not None:
            return known
        if value is None or value == "":
            return ""
        text = str(value)
        if _UUID.fullmatch(text):
            self._canonical[text] = text
            return text
        raise ValueError(f"{column} is {text!r}, and no release of Nova writes such a UUID")

    def moment(self, row: Row, column: str) -> datetime | None:
        """A time in UTC without a zone. None for NULL, for 1970, and for text that is no time."""
        value = getattr(row, column)
        if value is None:
            return None
        moment = value if isinstance(value, datetime) else _parsed(str(value))
        if moment is None or moment.year <= _EPOCH_YEAR:
            self.note(row, column, f"{str(value)!r} is no time of anything")
            return None
        return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment

    def number(self, row: Row, column: str) -> int | None:
        """A whole number. None for NULL and for any other value, such as text in SQLite."""
        value = getattr(row, column)
        if value is None or isinstance(value, int):
            return value
        self.note(row, column, f"{value!r} is no whole number")
        return None

    def flag(self, row: Row, column: str) -> bool:
        """Whether a number is not 0; NULL counts as 0. Raises ValueError for any other value.

        SAFETY: a row is left out if it is not known whether it is deleted, disabled or hidden.
        """
        value = getattr(row, column)
        if value is None or isinstance(value, int):
            return bool(value)
        raise ValueError(f"{column} is {value!r}, which is no whole number")

    def deleted(self, row: Row) -> bool:
        """Whether a row is deleted. NULL is noted: for Nova, such a row does not exist at all."""
        if row.deleted is None:
            self.note(row, "deleted", "it is NULL: Nova does not find this row")
        return self.flag(row, "deleted")

    def document(self, row: Row, column: str) -> Any:
        """A JSON document. None for NULL, and for text that is not JSON."""
        if not getattr(row, column):
            return None
        try:
            return msgspec.json.decode(getattr(row, column))
        except (ValueError, TypeError, RecursionError) as error:
            self.note(row, column, f"it is no JSON ({error})")
            return None


def _parsed(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
