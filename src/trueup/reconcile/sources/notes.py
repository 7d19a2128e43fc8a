# SPDX-License-Identifier: Apache-2.0
"""What a source said that is not in the facts: values that could not be read, kinds it lacks."""

from dataclasses import dataclass

from trueup.reconcile.facts import Unread, Unsupported

# How many unreadable values a source's status names; the rest are only counted.
UNREAD_NAMED_MAX = 100


@dataclass(frozen=True, slots=True)
class Noted:
    """Notes of one reading of a source; the fields are those of `SourceStatus`."""

    unread: tuple[Unread, ...] = ()
    unread_rows: int = 0
    lost_rows: int = 0
    unsupported: tuple[Unsupported, ...] = ()

    def and_also(self, other: "Noted") -> "Noted":
        """The notes of two readings of one source, each unreadable value named once."""
        return Noted(
            tuple(dict.fromkeys(self.unread + other.unread))[:UNREAD_NAMED_MAX],
            self.unread_rows + other.unread_rows,
            self.lost_rows + other.lost_rows,
            tuple(dict.fromkeys(self.unsupported + other.unsupported)),
        )


NOTHING_NOTED = Noted()


class Notes:
    """Collects what could not be understood while one source is read."""

    def __init__(self) -> None:
        self.unread: list[Unread] = []
        # PERF: the same uuids occur in many tables: each is parsed once, and kept once in memory.
        self.canonical: dict[str, str] = {}
        self.count = 0
        self.lost = 0

    def add(self, table: str, row: object, column: str, reason: str) -> None:
        """Note one value, or the whole row if `column` is empty."""
        self.count += 1
        self.lost += not column
        if len(self.unread) < UNREAD_NAMED_MAX:
            self.unread.append(Unread(table, str(row), column, reason))

    def so_far(self, unsupported: tuple[Unsupported, ...]) -> Noted:
        """Everything noted so far, with what the source cannot give."""
        return Noted(tuple(self.unread), self.count, self.lost, unsupported)
