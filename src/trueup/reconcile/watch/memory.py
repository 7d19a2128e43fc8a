# SPDX-License-Identifier: Apache-2.0
"""What watching remembers from round to round, and across restarts. Pure.

SAFETY: a finding is gone only if a round whose sources all answered no longer has it. It is
confirmed only if it was there, with the same evidence, for as long as a plan waits between its two
observations.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Annotated, Literal

import msgspec

from trueup.reconcile.audit import Audit
from trueup.reconcile.page.trend import MONTH, PastCount
from trueup.reconcile.steps import digest_of
from trueup.reconcile.verdicts import Finding, Severity

# After more rounds than this, every second round of the older half is forgotten.
ROUNDS_MAX = 1000

# How far apart the counts are that are kept; the newest one is kept in any case.
_BETWEEN_COUNTS = timedelta(hours=6)

# A finding that comes back within this time has a cause that no repair of the ledger removes.
RETURN_AFTER_MAX = timedelta(days=14)
# In UTC and without a zone, as everywhere: one with a zone is from a file that somebody edited.
Moment = Annotated[datetime, msgspec.Meta(tz=False)]

RoundState = Literal["complete", "incomplete", "failed"]


@dataclass(frozen=True, slots=True)
class Sighting:
    """A finding and when it was seen: since `first_seen` in every round, with this evidence.

    `evidence` is a digest. `rounds` is how many had it, with any evidence, and `known_since` the
    first of them (None: a Trueup that did not note it wrote the file). `steady` is how many in a
    row had it with this evidence. `since` is when the defect began, as far as the facts tell.
    `returned` is how often it was gone in the last two weeks.
    """

    id: str
    defect: str
    severity: Severity
    uuid: str
    where: str
    evidence: str
    first_seen: Moment
    last_seen: Moment
    rounds: int = 1
    since: Moment | None = None
    known_since: Moment | None = None
    returned: int = 0
    steady: int = 1

    @property
    def began(self) -> datetime:
        """Since when it has been there at least: the earliest time that is known."""
        times = (self.since, self.known_since, self.first_seen)
        return min(time for time in times if time is not None)

    @property
    def began_again(self) -> datetime:
        """The first round that had it since it was last gone."""
        return self.known_since or self.first_seen

    def confirmed(self, interval: timedelta) -> bool:
        """Whether two rounds that are so far apart, and all between them, have it."""
        return self.last_seen - self.first_seen >= interval


@dataclass(frozen=True, slots=True)
class Round:
    """How one round ended. `counts` are findings by severity, `reason` says why it failed."""

    at: Moment
    state: RoundState
    seconds: float = 0.0
    counts: Mapping[str, int] | None = None
    unchecked: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """The cells that were watched (uuids), what was seen, the rounds, and what was notified.

    `gone` has, by finding, when it was gone that had been there for more than one round. `counts`
    are those of the last month: how many servers fitted.
    """

    cells: tuple[str, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    rounds: tuple[Round, ...] = ()
    notified: frozenset[str] = frozenset()
    gone: Mapping[str, tuple[Moment, ...]] = field(default_factory=dict)
    counts: tuple[PastCount, ...] = ()

    def confirmed(self, interval: timedelta) -> tuple[Sighting, ...]:
        """The findings that the two-look rule confirms."""
        return tuple(sighting for sighting in self.sightings if sighting.confirmed(interval))

    @property
    def has_new(self) -> bool:
        """Whether the last round has a finding that no round before had: it is to be confirmed.

        One that is there with other evidence each time does not count, or a busy cloud would be
        read again and again.
        """
        last = self.rounds[-1] if self.rounds else None
        if last is None or last.state == "failed":
            return False
        return any(
            sighting.rounds == 1 and sighting.last_seen == last.at for sighting in self.sightings
        )


@dataclass(frozen=True, slots=True)
class News:
    """How the set of confirmed findings differs from what was last notified."""

    appeared: tuple[Sighting, ...]
    gone: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.appeared or self.gone)


def after_round(memory: Memory, audit: Audit, cells: Iterable[str], seconds: float) -> Memory:
    """What is remembered after an audit that took so many seconds."""
    watched = tuple(sorted(cells))
    known = memory if not memory.cells or set(memory.cells) & set(watched) else Memory()
    before = {sighting.id: sighting for sighting in known.sightings}
    gone = _recent(known.gone, audit.taken_at)
    found = {
        row.id: _sighting(row, before.get(row.id), audit.taken_at, len(gone.get(row.id, ())))
        for row in audit.findings
    }
    muted = {row.finding.id for row in audit.muted}
    kept = [
        sighting
        for sighting in known.sightings
        if sighting.id not in found and sighting.id not in muted and _may_be_there(sighting, audit)
    ]
    counts = {
        severity.value: sum(row.severity is severity for row in audit.findings)
        for severity in Severity
    }
    ended = Round(
        at=audit.taken_at,
        state="incomplete" if audit.incomplete else "complete",
        seconds=round(seconds, 3),
        counts=counts,
        unchecked=len(audit.unchecked),
    )
    there = {*found, *muted, *(sighting.id for sighting in kept)}
    for sighting in known.sightings:
        if sighting.id not in there and sighting.rounds > 1:
            gone[sighting.id] = (*gone.get(sighting.id, ()), audit.taken_at)
    rounds = _thinned((*known.rounds, ended))
    sightings = (*found.values(), *kept)
    return Memory(watched, sightings, rounds, known.notified, gone, known.counts)


def after_counting(memory: Memory, at: datetime, fits: Mapping[str, int]) -> Memory:
    """What is remembered after it was counted how many servers of each flavor fit."""
    kept = tuple(count for count in memory.counts if at - count.at <= MONTH)
    if len(kept) > 1 and kept[-1].at - kept[-2].at < _BETWEEN_COUNTS:
        kept = kept[:-1]
    return replace(memory, counts=(*kept, PastCount(at, fits)))


def after_failure(memory: Memory, at: datetime, seconds: float, reason: str) -> Memory:
    """What is remembered after a round that failed: it says nothing about findings."""
    failed = Round(at, "failed", round(seconds, 3), reason=reason)
    return replace(memory, rounds=_thinned((*memory.rounds, failed)))


def news_in(memory: Memory, interval: timedelta) -> News:
    """What has to be notified; a finding that is no longer confirmed, but there, is not gone."""
    appeared = tuple(
        sighting for sighting in memory.confirmed(interval) if sighting.id not in memory.notified
    )
    there = {sighting.id for sighting in memory.sightings}
    return News(appeared, tuple(sorted(memory.notified - there)))


def after_notifying(memory: Memory, news: News) -> Memory:
    """The memory after this news was sent."""
    notified = memory.notified - set(news.gone) | {sighting.id for sighting in news.appeared}
    return replace(memory, notified=frozenset(notified))


def _may_be_there(one: Sighting, audit: Audit) -> bool:
    """Whether a finding that an audit lacks may still exist."""
    return not audit.coverage.complete or any(
        row.subject.uuid == one.uuid for row in audit.unchecked
    )


def _recent(
    gone: Mapping[str, tuple[datetime, ...]], now: datetime
) -> dict[str, tuple[datetime, ...]]:
    """What was gone within the time in which a return counts."""
    recent = {
        finding: tuple(time for time in times if now - time <= RETURN_AFTER_MAX)
        for finding, times in gone.items()
    }
    return {finding: times for finding, times in recent.items() if times}


def _sighting(row: Finding, before: Sighting | None, now: datetime, returned: int) -> Sighting:
    evidence = digest_of(replace(row, may_pass_within=0))[:16]
    same = before is not None and before.evidence == evidence
    return Sighting(
        id=row.id,
        defect=row.defect,
        severity=row.severity,
        uuid=row.subject.uuid,
        where=row.where,
        evidence=evidence,
        first_seen=before.first_seen if before and same else now,
        last_seen=now,
        rounds=before.rounds + 1 if before else 1,
        since=row.since,
        known_since=(before.known_since or before.first_seen) if before else now,
        returned=returned,
        steady=before.steady + 1 if before and same else 1,
    )


def _thinned(rounds: tuple[Round, ...]) -> tuple[Round, ...]:
    if len(rounds) <= ROUNDS_MAX:
        return rounds
    half = len(rounds) // 2
    return (*rounds[:half:2], *rounds[half:])
