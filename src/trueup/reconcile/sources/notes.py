# SPDX-License-Identifier: Apache-2.0
"""Notes about one source: unreadable values, and kinds of facts that it cannot give."""

from dataclasses import dataclass

from trueup.reconcile.facts import Unread, Unsupported

# How many unreadable values a source's status names; the rest are only counted.
UNREAD_NAMED_MAX = 100


@dataclass(frozen=True, slots=True)
class Noted:
    """The notes of one read of a source. The fields are those of `SourceStatus`."""

    unread: tuple[Unread, ...] = ()
    unread_rows: int = 0
    lost_rows: int = 0
    unsupported: tuple[Unsupported, ...] = ()

    def and_also(self, other: "Noted") -> "Noted":
        """The notes of two reads of one source, with each unreadable value once."""
        return Noted(
            tuple(dict.fromkeys(self.unread + other.unread))[:UNREAD_NAMED_MAX],
            self.unread_rows + other.unread_rows,
            self.lost_rows + other.lost_rows,
            tuple(dict.fromkeys(self.unsupported + other.unsupported)),
        )


NOTHING_NOTED = Noted()


class Notes:
    """Collects the values that cannot be understood while one source is read."""

    def __init__(self) -> None:
        self.unread: list[Unread] = []
        # PERF: the same UUIDs occur in many tables; each is parsed once and stored once.
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
        """All notes so far, together with the kinds of facts that the source cannot give."""
        return Noted(tuple(self.unread), self.count, self.lost, unsupported)
