# SPDX-License-Identifier: Apache-2.0
"""Acknowledgements: what an operator knows better than the facts, with a reason and an end.

They are shown in every audit. What they answer is no longer "could not check"; nothing else of an
audit changes, and no finding is hidden.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from trueup.reconcile.findings import LeftAlone, Subject, Unchecked

# host-gone: a host that never comes back; its records are left to be removed.
# foreign-owner: a consumer that another service, or another Nova, owns.
# lagging-replica: a cell whose database may be behind, or in which nothing reports.
AcknowledgementKind = Literal["host-gone", "foreign-owner", "lagging-replica"]
_SUBJECTS = {"host-gone": "host", "foreign-owner": "consumer", "lagging-replica": "cell"}


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """What an operator says of a host or cell (by name) or consumer (by uuid), and until when."""

    kind: AcknowledgementKind
    name: str
    reason: str
    until: date
    by: str = ""

    def holds(self, day: date) -> bool:
        """Whether it has not expired; its last day is `until`."""
        return day <= self.until

    def answers(self, subject: Subject) -> bool:
        """Whether it is about this subject."""
        return (subject.kind, subject.uuid) == (_SUBJECTS[self.kind], self.name)


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """An acknowledgement in an audit: what it answered, if anything, and whether it has expired."""

    acknowledgement: Acknowledgement
    expired: bool
    answered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """The verdicts that are left, and every acknowledgement with what it answered."""

    unchecked: tuple[Unchecked, ...]
    left_alone: tuple[LeftAlone, ...]
    acknowledged: tuple[Acknowledged, ...]


def answer(
    unchecked: Sequence[Unchecked],
    left_alone: Sequence[LeftAlone],
    acknowledgements: Iterable[Acknowledgement],
    day: date,
) -> Answered:
    """Take from an audit's verdicts what acknowledgements answer; expired ones answer nothing."""
    rows: list[Acknowledged] = []
    open_rows, odd_rows = list(unchecked), list(left_alone)
    for one in acknowledgements:
        if not one.holds(day):
            rows.append(Acknowledged(one, expired=True))
            continue
        reasons = [row.reason for row in open_rows if one.answers(row.subject)]
        reasons += [row.reason for row in odd_rows if one.answers(row.subject)]
        open_rows = [row for row in open_rows if not one.answers(row.subject)]
        odd_rows = [row for row in odd_rows if not one.answers(row.subject)]
        rows.append(Acknowledged(one, expired=False, answered=tuple(reasons)))
    return Answered(tuple(open_rows), tuple(odd_rows), tuple(rows))


def names_of(
    acknowledgements: Iterable[Acknowledgement], kind: AcknowledgementKind, day: date
) -> frozenset[str]:
    """The names that acknowledgements of one kind give and that have not expired."""
    return frozenset(one.name for one in acknowledgements if one.kind == kind and one.holds(day))
