# SPDX-License-Identifier: Apache-2.0
"""Observations of a cloud, and what two of them confirm. Pure.

SAFETY: a fault at two moments is drift; a fault at one moment may be a move under way. Plans are
made only of `Confirmed` findings, which take two observations.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from trueup.reconcile.audit.audit import Audit, audit, judged
from trueup.reconcile.defects import OF_WHOLE_CLOUDS
from trueup.reconcile.facts import Facts
from trueup.reconcile.reasons import because
from trueup.reconcile.verdicts import CONSUMERS, AuditOptions, Finding, LeftAlone, Unchecked


@dataclass(eq=False)
class IntervalInvalid(Exception):
    """The interval between two observations is zero or less: both would see the same."""

    seconds: float


@dataclass(eq=False)
class FirstObservationMissing(Exception):
    """A snapshot is one observation, and no first observation, old enough, was named."""

    seconds: float


@dataclass(eq=False)
class ObservedTooSoon(Exception):
    """The second observation was made too soon after the first."""

    apart: timedelta
    interval: timedelta


@dataclass(frozen=True, slots=True)
class Observation:
    """A cloud at one moment: the facts and their audit."""

    facts: Facts
    audit: Audit


def observation(facts: Facts, options: AuditOptions) -> Observation:
    """The observation that these facts make."""
    # A plan's remedies read these facts again, so they must have the cells that may be behind, and
    # the providers that an operator has chosen.
    known = judged(facts, options)
    return Observation(known, audit(known, options))


# The reason to leave alone a subject that no longer looks wrong when read again by itself.
CHANGED = because("changed-while-read")


_PLACES = frozenset({"provider", "host"})


def suspects_of(audit: Audit) -> frozenset[str]:
    """The uuids of the consumers that are, or may be, wrong by an audit.

    While a source is silent, unchecked subjects are left out: another reading would not help.
    """
    rows: list[Finding | Unchecked] = [*audit.every_finding]
    if audit.coverage.complete:
        rows += audit.unchecked
    of_consumers = [row for row in rows if row.subject.kind in CONSUMERS]
    beside = (
        consumer for row in of_consumers if isinstance(row, Finding) for consumer in row.consumers
    )
    return frozenset((*(row.subject.uuid for row in of_consumers), *beside))


def suspect_places(audit: Audit) -> frozenset[str]:
    """The providers, by uuid, and the hosts, by name, that have findings in an audit."""
    return frozenset(
        row.subject.uuid
        for row in audit.findings
        if row.subject.kind in _PLACES and row.defect not in OF_WHOLE_CLOUDS
    )


def places_confirmed(first: Observation, again: Facts, options: AuditOptions) -> Observation:
    """This observation, without the findings about places that `again` does not confirm.

    `again` has only facts of the suspect places. They are newer, and have more of these providers,
    so they replace those of the observation.
    """
    asked = suspect_places(first.audit)
    still = {row.id: row for row in observation(again, options).audit.findings}
    gone = [
        row
        for row in first.audit.findings
        if row.subject.uuid in asked
        and row.defect not in OF_WHOLE_CLOUDS
        and still.get(row.id) != row
    ]
    changed = tuple(LeftAlone(row.subject, row.where, CHANGED) for row in gone)
    lost = {row.id for row in gone}
    result = replace(
        first.audit,
        findings=tuple(row for row in first.audit.findings if row.id not in lost),
        left_alone=(*first.audit.left_alone, *changed),
    )
    # Sharing providers are left out: `again` has only some of the providers that they share with.
    newer = {uuid: row for uuid, row in again.providers.items() if not row.sharing}
    facts = replace(first.facts, providers={**first.facts.providers, **newer})
    return Observation(facts, result)


def settling_seconds(audit: Audit) -> int:
    """For how many seconds a healthy cloud may look like this audit's findings."""
    return max((row.may_pass_within for row in audit.every_finding), default=0)


def confirmed_again(first: Observation, again: Audit) -> Observation:
    """This observation, with only those suspects that are still suspect in another audit.

    The facts of `again` were read in a moment, for the suspects alone. A whole cloud is read source
    by source: a subject that only seemed wrong because it moved meanwhile is not in `again`.
    """
    asked = suspects_of(first.audit)
    if not asked:
        return first
    found = {row.id: row for row in again.every_finding}
    still = {row.subject for row in again.unchecked}
    findings = tuple(
        row
        for row in first.audit.findings
        if row.subject.uuid not in asked or found.get(row.id) == row
    )
    muted = tuple(
        row
        for row in first.audit.muted
        if row.finding.subject.uuid not in asked or found.get(row.finding.id) == row.finding
    )
    unchecked = tuple(
        row
        for row in first.audit.unchecked
        if row.subject.uuid not in asked or row.subject in still
    )
    reported = {row.subject for row in findings} | {row.subject for row in unchecked}
    reported |= {row.finding.subject for row in muted}
    # A suspect that could not be checked the second time is reported so.
    unchecked += tuple(row for row in again.unchecked if row.subject not in reported)
    reported |= {row.subject for row in unchecked}
    rows: list[Finding | Unchecked] = [*first.audit.every_finding, *first.audit.unchecked]
    changed = {row.subject: row.where for row in rows if row.subject not in reported}
    left_alone = (
        *first.audit.left_alone,
        *(LeftAlone(subject, where, CHANGED) for subject, where in changed.items()),
    )
    result = replace(
        first.audit,
        findings=findings,
        unchecked=unchecked,
        left_alone=left_alone,
        muted=muted,
    )
    return replace(first, audit=result)


def refuse_interval(interval: timedelta) -> None:
    """Raise IntervalInvalid if the interval between two observations is zero or less."""
    if interval <= timedelta():
        raise IntervalInvalid(interval.total_seconds())


class Confirmed:
    """The findings that two observations have with the same evidence, and the second observation.

    The first observation is given by its audit, which may come from a file. Raises IntervalInvalid,
    and ObservedTooSoon if there are findings and the two are less than an interval apart.
    """

    __slots__ = ("_findings", "_first_at", "_second")

    def __init__(self, first: Audit, second: Observation, interval: timedelta) -> None:
        refuse_interval(interval)
        apart = second.audit.taken_at - first.taken_at
        if first.findings and apart < interval:
            raise ObservedTooSoon(apart, interval)
        before = {finding.id: finding for finding in first.findings}
        self._findings = tuple(
            finding for finding in second.audit.findings if before.get(finding.id) == finding
        )
        self._first_at = first.taken_at
        self._second = second

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self._findings

    @property
    def first_at(self) -> datetime:
        """When the first observation was made."""
        return self._first_at

    @property
    def second(self) -> Observation:
        return self._second
