# SPDX-License-Identifier: Apache-2.0
"""Observations of a cloud, and what two of them confirm. Pure.

SAFETY: what is there at two moments is drift; what is there at one may be a move under way. A plan
is made of `Confirmed` only, and there is no way to make that but from two observations.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from trueup.reconcile.acknowledgements import with_choices
from trueup.reconcile.audit import Audit, audit
from trueup.reconcile.facts import Facts
from trueup.reconcile.findings import CONSUMERS, Finding, LeftAlone, Unchecked
from trueup.reconcile.freshness import with_freshness
from trueup.reconcile.options import AuditOptions


@dataclass(eq=False)
class IntervalInvalid(Exception):
    """Two observations are to be no time apart: the second would see what the first saw."""

    seconds: float


@dataclass(eq=False)
class FirstObservationMissing(Exception):
    """A snapshot is one observation, and none was named that is so many seconds older."""

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
    # What is planned later asks the facts again: they have to say which cells may be behind, and
    # what an operator has chosen.
    judged = with_choices(with_freshness(facts, options), options.acknowledgements)
    return Observation(judged, audit(judged, options))


# What is said of a suspect that is not one any more when it is read again by itself.
CHANGED = "it changed while the cloud was read"


# PCI devices are read of a whole cloud only: a second reading of the host alone has none.
_OF_WHOLE_CLOUDS = frozenset({"child-without-owner"})
_PLACES = frozenset({"provider", "host"})


def suspects_of(audit: Audit) -> frozenset[str]:
    """The consumers, by uuid, about which an audit says that something is or may be wrong.

    While a source is silent, what could not be checked is left out: reading it again says no more.
    """
    rows: list[Finding | Unchecked] = [*audit.every_finding]
    if audit.coverage.complete:
        rows += audit.unchecked
    of_consumers = [row for row in rows if row.subject.kind in CONSUMERS]
    beside = (one for row in of_consumers if isinstance(row, Finding) for one in row.consumers)
    return frozenset((*(row.subject.uuid for row in of_consumers), *beside))


def suspect_places(audit: Audit) -> frozenset[str]:
    """The providers, by uuid, and hosts, by name, that an audit has findings about."""
    return frozenset(
        row.subject.uuid
        for row in audit.findings
        if row.subject.kind in _PLACES and row.defect not in _OF_WHOLE_CLOUDS
    )


def places_confirmed(first: Observation, again: Facts, options: AuditOptions) -> Observation:
    """The same observation, with the findings about places that are still there in `again`.

    `again` are facts of the suspect places alone. What they say of these providers is newer, and
    more of it was read, so the observation's facts have it.
    """
    asked = suspect_places(first.audit)
    still = {row.id: row for row in observation(again, options).audit.findings}
    gone = [
        row
        for row in first.audit.findings
        if row.subject.uuid in asked
        and row.defect not in _OF_WHOLE_CLOUDS
        and still.get(row.id) != row
    ]
    changed = tuple(LeftAlone(row.subject, row.where, CHANGED) for row in gone)
    result = replace(
        first.audit,
        findings=tuple(row for row in first.audit.findings if row not in gone),
        left_alone=(*first.audit.left_alone, *changed),
    )
    # Of a sharing provider, only those that it shares with among these places were read.
    newer = {uuid: row for uuid, row in again.providers.items() if not row.sharing}
    facts = replace(first.facts, providers={**first.facts.providers, **newer})
    return Observation(facts, result)


def settling_seconds(audit: Audit) -> int:
    """For how many seconds a healthy cloud may look like what an audit found."""
    return max((row.may_pass_within for row in audit.every_finding), default=0)


def confirmed_again(first: Observation, again: Audit) -> Observation:
    """The same observation, with only those suspects that are still suspect in another audit.

    `again` is of facts that were read of the suspects alone, in a moment: what a whole cloud shows
    while it moves, as its sources are read one after the other, is not there any more.
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
        one
        for one in first.audit.muted
        if one.finding.subject.uuid not in asked or found.get(one.finding.id) == one.finding
    )
    unchecked = tuple(
        row
        for row in first.audit.unchecked
        if row.subject.uuid not in asked or row.subject in still
    )
    told = {row.subject for row in findings} | {row.subject for row in unchecked}
    told |= {one.finding.subject for one in muted}
    # Of what could not be checked only now, that is said.
    unchecked += tuple(row for row in again.unchecked if row.subject not in told)
    told |= {row.subject for row in unchecked}
    rows: list[Finding | Unchecked] = [*first.audit.every_finding, *first.audit.unchecked]
    changed = {row.subject: row.where for row in rows if row.subject not in told}
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
    """Raise IntervalInvalid where the interval between two observations is none."""
    if interval <= timedelta():
        raise IntervalInvalid(interval.total_seconds())


class Confirmed:
    """The findings that two observations have, with the same evidence; facts are the second's.

    Of the first observation its audit suffices, which may come from a file. Raises
    IntervalInvalid, and ObservedTooSoon where there is something to confirm and the two are not
    at least an interval apart.
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
