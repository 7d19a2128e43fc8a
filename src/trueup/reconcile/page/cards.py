# SPDX-License-Identifier: Apache-2.0
"""The findings of a page as cards, grouped by defect, each with what its remedy would do. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from trueup.reconcile.audit import Audit
from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.facts import Facts
from trueup.reconcile.report.audit_view import AuditView, shown
from trueup.reconcile.report.effects import FindingEffect
from trueup.reconcile.report.guards import guard_in_words
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.states import before_and_after
from trueup.reconcile.report.words import evidence_in_words
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import Acknowledgement, Finding, Severity
from trueup.reconcile.wording import age_in_words

# Of more findings than these, the others are listed without evidence and steps: the page stays
# small enough to open at once when a whole cloud has drifted.
CARDS_MAX = 500
_DEFECTS = {defect.NAME: defect for defect in DEFECTS}


@dataclass(frozen=True, slots=True)
class ChangedPart:
    """One part of a target, before and after a step; empty: it is not there."""

    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class StepCard:
    """What a step changes, and what must still hold when it is written."""

    parts: tuple[ChangedPart, ...]
    guards: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FindingCard:
    """A finding in words. `declined` says why there are no steps, `muted` why it is muted.

    `name` is that of the instance or provider it is about; empty where it has none.
    """

    id: str
    severity: Severity
    kind: str
    uuid: str
    name: str
    where: str
    age: str
    effects: tuple[str, ...]
    evidence: Mapping[str, str]
    steps: tuple[StepCard, ...]
    declined: str
    muted: str


@dataclass(frozen=True, slots=True)
class DefectGroup:
    """All findings of one defect, the worst first; `more` have no card, only their ids."""

    name: str
    title: str
    remedy: str
    cards: tuple[FindingCard, ...]
    more: tuple[str, ...]

    @property
    def count(self) -> int:
        return len(self.cards) + len(self.more)


def defect_groups(
    audit: Audit, effects: Mapping[str, FindingEffect], facts: Facts
) -> tuple[DefectGroup, ...]:
    """The findings by defect, the worst first, and muted ones last within their defect."""
    muted = {row.finding.id: row.acknowledgement for row in audit.muted}
    ordered = shown(audit, AuditView()).findings
    every = (*ordered, *(row.finding for row in audit.muted))
    with_card = frozenset(row.id for row in every[:CARDS_MAX])
    by_defect: dict[str, list[Finding]] = {}
    for row in every:
        by_defect.setdefault(row.defect, []).append(row)
    cards = {
        row.id: _card(row, effects[row.id], facts, muted.get(row.id))
        for row in every
        if row.id in with_card
    }
    return tuple(_group(name, rows, cards) for name, rows in by_defect.items())


def _group(name: str, rows: Iterable[Finding], cards: Mapping[str, FindingCard]) -> DefectGroup:
    found = list(rows)
    return DefectGroup(
        name=name,
        title=_DEFECTS[name].TITLE,
        remedy=_DEFECTS[name].REMEDY,
        cards=tuple(cards[row.id] for row in found if row.id in cards),
        more=tuple(row.id for row in found if row.id not in cards),
    )


def _card(
    row: Finding, effect: FindingEffect, facts: Facts, muted: Acknowledgement | None
) -> FindingCard:
    counts = [f"capacity of {count.words}" for count in effect.capacity]
    counts += [f"quota of {count.words}" for count in effect.quota]
    return FindingCard(
        id=row.id,
        severity=row.severity,
        kind=row.subject.kind,
        uuid=row.subject.uuid,
        name=_name(row.subject.uuid, facts),
        where=row.where,
        age=_age(row.since, facts.taken_at),
        effects=tuple(counts),
        evidence=evidence_in_words(row.evidence),
        steps=tuple(_step(step, {**facts.cells, **facts.provider_names}) for step in effect.steps),
        declined=in_words(effect.declined),
        muted=f"muted until {muted.until.isoformat()}: {muted.reason}" if muted else "",
    )


def _name(uuid: str, facts: Facts) -> str:
    named = facts.alive.get(uuid) or facts.deleted.get(uuid) or facts.providers.get(uuid)
    return named.name if named else ""


def _age(since: datetime | None, now: datetime) -> str:
    return age_in_words(now - since) if since else ""


def _step(step: Step, names: Mapping[str, str]) -> StepCard:
    before, after = before_and_after(step, names)
    labels = sorted(before.keys() | after.keys())
    return StepCard(
        parts=tuple(
            ChangedPart(label, before.get(label, ""), after.get(label, "")) for label in labels
        ),
        guards=tuple(guard_in_words(guard, names) for guard in step.guards),
    )
