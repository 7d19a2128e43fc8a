# SPDX-License-Identifier: Apache-2.0
"""Coverage: which sources were asked, what each of them gave, and what could not be understood."""

from dataclasses import dataclass
from datetime import datetime

# Sources that there is one of, by the names that coverage gives them.
NEUTRON = "Neutron"


@dataclass(frozen=True, slots=True)
class Unread:
    """A row of which a part, or without `column` the whole, could not be understood.

    `row` is its id in that table, as text.
    """

    table: str
    row: str
    column: str
    reason: str

    @property
    def lost(self) -> bool:
        """Whether nothing of the row is in the facts."""
        return not self.column


@dataclass(frozen=True, slots=True)
class Lacking:
    """A kind of fact that a source cannot give, and why: its release or its API has none."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether one source (a cell, Nova's API database, Placement) answered in this run.

    `way` says how it was read (`database`, `API`, `export`); `answered_at` when its answer was
    complete. Of rows that could not be understood `unread` names the first ones, `unread_rows`
    counts all, and `lost_rows` those of which nothing is known.
    """

    source: str
    answered: bool
    rows: int = 0
    reason: str = ""
    way: str = ""
    answered_at: datetime | None = None
    unread: tuple[Unread, ...] = ()
    unread_rows: int = 0
    lost_rows: int = 0
    lacking: tuple[Lacking, ...] = ()

    @property
    def partial(self) -> bool:
        """Whether it answered, but not everything it said is in the facts."""
        return self.answered and bool(self.unread_rows or self.lacking)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Every source that could know something, and whether it answered."""

    answers: tuple[Answer, ...]

    @property
    def missing(self) -> tuple[Answer, ...]:
        return tuple(answer for answer in self.answers if not answer.answered)

    @property
    def losing(self) -> tuple[Answer, ...]:
        """The sources with rows of which nothing is known, which may be about anything."""
        return tuple(answer for answer in self.answers if answer.answered and answer.lost_rows)

    @property
    def complete(self) -> bool:
        """Whether what is not in the facts is nowhere: each source answered, and lost no row."""
        return not self.missing and not self.losing

    def lacks(self, what: str) -> tuple[Lacking, ...]:
        """Why this kind of fact is not there, from each source that cannot give it."""
        return tuple(one for answer in self.answers for one in answer.lacking if one.what == what)
