# SPDX-License-Identifier: Apache-2.0
"""Observations of a cloud, and what two of them confirm. Pure.

SAFETY: what is wrong at two moments is drift; what is wrong at one moment may be a move under way.
A plan is made only of `Confirmed` findings, and only two observations make those.
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
    """The interval between two observations is zero or less: the second would see the same."""

    seconds: float


@dataclass(eq=False)
class FirstObservationMissing(Exception):
    """A snapshot is one observation, and no first one, so many seconds older, was named."""

    seconds: float


@dataclass(eq=False)
class ObservedTooSoon(Exception):
    """The second observation was not made so many seconds after the first."""

    apart: timedelta
    interval: timedelta


@dataclass(frozen=True, slots=True)
class Observation:
    """A cloud at one moment: the facts, and what the audit of them says."""

    facts: Facts
    audit: Audit


def observation(facts: Facts, options: AuditOptions) -> Observation:
    """The observation that these facts make."""
    # Remedies ask these facts again when a plan is made, so the facts have to say which cells may
    # be behind, and which providers an operator has chosen.
    known = judged(facts, options)
    return Observation(known, audit(known, options))


# The reason to leave alone what no longer looks wrong when it is read again by itself.
CHANGED = because("changed-while-read")


_PLACES = frozenset({"provider", "host"})


def suspects_of(audit: Audit) -> frozenset[str]:
    """The consumers, by uuid, about which an audit says that something is or may be wrong.

    While a source is silent, what could not be checked is left out: reading it again says no more.
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
    """The providers, by uuid, and hosts, by name, that an audit has findings about."""
    return frozenset(
        row.subject.uuid
        for row in audit.findings
        if row.subject.kind in _PLACES and row.defect not in OF_WHOLE_CLOUDS
    )


def places_confirmed(first: Observation, again: Facts, options: AuditOptions) -> Observation:
    """The same observation, without the findings about places that `again` does not confirm.

    `again` are facts of the suspect places alone. They are newer, and more was read of these
    providers, so they replace those of the observation.
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
    # Not for sharing providers: `again` knows only some of the providers that they share with.
    newer = {uuid: row for uuid, row in again.providers.items() if not row.sharing}
    facts = replace(first.facts, providers={**first.facts.providers, **newer})
    return Observation(facts, result)


def settling_seconds(audit: Audit) -> int:
    """For how many seconds a healthy cloud may look like what an audit found."""
    return max((row.may_pass_within for row in audit.every_finding), default=0)


def confirmed_again(first: Observation, again: Audit) -> Observation:
    """The same observation, with only those suspects that are still suspect in another audit.

    `again` is of facts that were read for the suspects alone, in a moment. A whole cloud is read
    source by source; what only seemed wrong because it moved meanwhile is not in `again`.
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

    The first one is given by its audit, which may come from a file. Raises IntervalInvalid, and
    ObservedTooSoon if there is something to confirm and the two are less than an interval apart.
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
