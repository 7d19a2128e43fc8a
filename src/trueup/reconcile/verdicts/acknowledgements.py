# SPDX-License-Identifier: Apache-2.0
"""Acknowledgements: what an operator knows better than the facts, with a reason and an end.

Every audit shows them. What they answer is no longer "could not check". A finding that is
acknowledged by its id is muted: audits show it as muted, and plans leave it out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from trueup.reconcile.facts import Facts, grouped
from trueup.reconcile.reasons import Reason
from trueup.reconcile.verdicts.findings import Finding, LeftAlone, Subject, Unchecked

# host-gone: a host that never comes back; its records are left to be removed.
# foreign-owner: a consumer that another service, or another Nova, owns.
# lagging-replica: a cell whose database may be behind, or in which nothing reports.
# finding: a known finding that is not reported for a while.
# dead-consumer: a consumer whose instance is gone for good; a plan releases what it holds.
# unoffered-class: a resource class that flavors request, and that no provider should have.
# port-provider: the provider of a port's resources, where several are possible.
AcknowledgementKind = Literal[
    "host-gone",
    "foreign-owner",
    "lagging-replica",
    "finding",
    "port-provider",
    "dead-consumer",
    "unoffered-class",
]
_SUBJECTS = {
    "host-gone": "host",
    "foreign-owner": "consumer",
    "lagging-replica": "cell",
    "unoffered-class": "class",
}


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """An operator's word on a host, cell or class, a consumer or port, or a finding.

    `name` is the name of a host, cell or class, the uuid of a consumer or port, or the id of a
    finding. `until` is the last day on which the word counts. `provider` is the name or uuid of the
    provider chosen for a port.
    """

    kind: AcknowledgementKind
    name: str
    reason: str
    until: date
    by: str = ""
    provider: str = ""

    def holds(self, day: date) -> bool:
        """Whether it has not expired."""
        return day <= self.until

    def answers(self, subject: Subject) -> bool:
        """Whether it is about this subject."""
        return (subject.kind, subject.uuid) == (_SUBJECTS.get(self.kind), self.name)

    def mutes(self, finding: Finding) -> bool:
        """Whether it is about this finding."""
        return self.kind == "finding" and self.name == finding.id


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """An acknowledgement in an audit: what it answered, if anything, and whether it has expired."""

    acknowledgement: Acknowledgement
    expired: bool
    answered: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Muted:
    """A finding that an acknowledgement mutes."""

    finding: Finding
    acknowledgement: Acknowledgement


@dataclass(frozen=True, slots=True)
class Answered:
    """The verdicts that are left, the muted findings, and all other acknowledgements."""

    findings: tuple[Finding, ...]
    unchecked: tuple[Unchecked, ...]
    left_alone: tuple[LeftAlone, ...]
    acknowledged: tuple[Acknowledged, ...]
    muted: tuple[Muted, ...]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The verdicts of an audit, before acknowledgements answer any."""

    findings: Sequence[Finding]
    unchecked: Sequence[Unchecked]
    left_alone: Sequence[LeftAlone]


def answer(verdicts: Verdicts, acknowledgements: Iterable[Acknowledgement], day: date) -> Answered:
    """Remove the verdicts that acknowledgements answer; expired acknowledgements answer nothing.

    An acknowledgement that mutes a finding is in `muted`, and not in `acknowledged`.
    """
    rows: list[Acknowledged] = []
    muted: list[Muted] = []
    findings = list(verdicts.findings)
    open_rows, odd_rows = list(verdicts.unchecked), list(verdicts.left_alone)
    for acknowledgement in acknowledgements:
        if not acknowledgement.holds(day):
            rows.append(Acknowledged(acknowledgement, expired=True))
            continue
        known = [Muted(row, acknowledgement) for row in findings if acknowledgement.mutes(row)]
        reasons = [row.reason for row in open_rows if acknowledgement.answers(row.subject)]
        reasons += [row.reason for row in odd_rows if acknowledgement.answers(row.subject)]
        findings = [row for row in findings if not acknowledgement.mutes(row)]
        open_rows = [row for row in open_rows if not acknowledgement.answers(row.subject)]
        odd_rows = [row for row in odd_rows if not acknowledgement.answers(row.subject)]
        muted += known
        if not known:
            rows.append(Acknowledged(acknowledgement, expired=False, answered=tuple(reasons)))
    return Answered(tuple(findings), tuple(open_rows), tuple(odd_rows), tuple(rows), tuple(muted))


def with_choices(facts: Facts, acknowledgements: Iterable[Acknowledgement]) -> Facts:
    """These facts, with the providers that are chosen for ports today."""
    chosen = grouped(
        (row.name, row.provider)
        for row in acknowledgements
        if row.kind == "port-provider" and row.holds(facts.taken_at.date())
    )
    return replace(facts, chosen_providers=chosen) if chosen else facts


def names_of(
    acknowledgements: Iterable[Acknowledgement], kind: AcknowledgementKind, day: date
) -> frozenset[str]:
    """The names in the acknowledgements of one kind that have not expired."""
    return frozenset(row.name for row in acknowledgements if row.kind == kind and row.holds(day))
