# SPDX-License-Identifier: Apache-2.0
"""Stories: the facts about one subject and the steps of a plan, in sentences. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from trueup.reconcile.audit import Audit, Observation
from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.facts import Amounts, Facts
from trueup.reconcile.reasons import Reason
from trueup.reconcile.report.audit_document import moment
from trueup.reconcile.report.effects import FindingEffect, effects_of
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.states import before_and_after
from trueup.reconcile.report.words import evidence_in_words
from trueup.reconcile.rules.claims import NotCertain, claim_of
from trueup.reconcile.rules.strangers import row_lost
from trueup.reconcile.rules.unoffered import reason_of, unoffered_classes
from trueup.reconcile.steps import AllocationsOf
from trueup.reconcile.verdicts import Finding, Subject, amounts_in_words

FORMAT = 1
_DEFECTS = {defect.NAME: defect for defect in DEFECTS}


@dataclass(frozen=True, slots=True)
class Section:
    """The sentences about one side of a subject."""

    about: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """A subject and everything known about it. `findings` are the ids of its findings."""

    subject: Subject
    name: str
    taken_at: datetime
    sections: tuple[Section, ...]
    findings: tuple[str, ...]
    incomplete: bool

    def document(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "format": FORMAT,
            "taken_at": moment(self.taken_at),
            "subject": {"kind": self.subject.kind, "uuid": self.subject.uuid, "name": self.name},
            "complete": not self.incomplete,
            "findings": list(self.findings),
            "sections": [
                {"about": section.about, "sentences": list(section.sentences)}
                for section in self.sections
            ],
        }


@dataclass(frozen=True, slots=True)
class Concern:
    """The part of an audit about some subjects, which are uuids and names."""

    audit: Audit
    facts: Facts
    subjects: frozenset[str]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(row for row in self.audit.every_finding if self._about(row))

    @property
    def unchecked(self) -> tuple[Reason, ...]:
        """Why these subjects or their host could not be checked."""
        own = (row.reason for row in self.audit.unchecked if row.subject.uuid in self.subjects)
        claims = (
            claim_of(uuid, self.facts) for uuid in sorted(self.subjects & self.facts.alive.keys())
        )
        uncertain = (row for row in claims if isinstance(row, NotCertain) and not row.of_instance)
        lost = (row_lost(uuid, self.facts) for uuid in sorted(self.subjects))
        classes = unoffered_classes(self.facts)
        names = {name for uuid in self.subjects for name in classes.get(uuid, ())}
        open_classes = {row.subject.uuid for row in self.audit.unchecked} & names
        every = (
            *own,
            *filter(None, lost),
            *(row.reason for row in uncertain),
            *(reason_of(name) for name in sorted(open_classes)),
        )
        return tuple(dict.fromkeys(every))

    @property
    def left_alone(self) -> tuple[tuple[str, Reason], ...]:
        """The subjects that were left alone, in words, and why."""
        rows = (row for row in self.audit.left_alone if row.subject.uuid in self.subjects)
        return tuple((self._who(row.subject), row.reason) for row in rows)

    def _who(self, subject: Subject) -> str:
        """The beginning of a sentence about one of the subjects: `It`, or its name."""
        if len(self.subjects) == 1:
            return "It"
        row = self.facts.alive.get(subject.uuid) or self.facts.deleted.get(subject.uuid)
        return f"{subject.kind.capitalize()} {row.name} ({row.uuid})" if row else str(subject)

    def _about(self, row: Finding) -> bool:
        return not self.subjects.isdisjoint({row.subject.uuid, *row.consumers})


def concern(seen: Observation, subjects: Iterable[str]) -> Concern:
    """What an observation says about these subjects."""
    return Concern(seen.audit, seen.facts, frozenset(subjects))


def make_story(subject: Subject, name: str, about: Concern, sections: Iterable[Section]) -> Story:
    """The story of a subject: these sections, then the verdicts and the steps of a plan."""
    every = (*sections, *_judgement(about))
    coverage = about.facts.coverage
    return Story(
        subject=subject,
        name=name,
        taken_at=about.facts.taken_at,
        sections=tuple(section for section in every if section.sentences),
        findings=tuple(row.id for row in about.findings),
        incomplete=bool(about.unchecked) or not coverage.complete,
    )


def _judgement(about: Concern) -> Iterator[Section]:
    findings = about.findings
    effects = effects_of(findings, about.facts, about.audit.findings)
    yield Section("Judgement", tuple(_verdicts(about)))
    yield Section("What would be done", tuple(_repairs(findings, effects, about.facts)))
    yield Section("Waited for", tuple(_awaited(about)))


def _verdicts(about: Concern) -> Iterator[str]:
    muted = {row.finding.id: row.acknowledgement for row in about.audit.muted}
    for row in about.findings:
        yield f"{row.severity.value}: {row.defect}. {_DEFECTS[row.defect].TITLE}."
        for label, text in evidence_in_words(row.evidence).items():
            yield f"Evidence, {label}: {text}."
        if one := muted.get(row.id):
            yield f"It is muted until {one.until.isoformat()}: {one.reason}."
    for reason in about.unchecked:
        yield f"It could not be checked: {in_words(reason)}."
    for who, reason in about.left_alone:
        yield f"{who} is left alone: {in_words(reason)}."
    if not (about.findings or about.unchecked or about.left_alone):
        gap = about.facts.coverage.gap
        yield (
            f"Nothing wrong is found, but {in_words(gap)}." if gap else "Nothing is wrong with it."
        )


def _repairs(
    findings: Iterable[Finding], effects: Mapping[str, FindingEffect], facts: Facts
) -> Iterator[str]:
    """The steps of a plan for each finding, numbered through all findings."""
    names, number = facts.provider_names, 0
    for row in findings:
        effect = effects[row.id]
        if effect.declined:
            yield f"No step is proposed for {row.id}: {in_words(effect.declined)}."
            continue
        yield f"For {row.id}: {_DEFECTS[row.defect].REMEDY}."
        for step in effect.steps:
            number += 1
            before, after = before_and_after(step, names)
            of_amounts = all(isinstance(row.target, AllocationsOf) for row in step.changes)
            change = f"{_flat(before, of_amounts)} to {_flat(after, of_amounts)}"
            yield f"Step {number} changes {change}."
        for count in (*effect.capacity, *effect.quota):
            yield f"Until then Placement counts for {count.words}."
    if number:
        yield "trueup plan --out plan.json makes this plan, after a second observation."


def _flat(state: Mapping[str, str], of_amounts: bool) -> str:
    """A state in one line; the labels of amounts are the names of providers."""
    if of_amounts:
        return "; ".join(f"{held} on {name}" for name, held in state.items()) or "nothing"
    return "; ".join(f"{name}: {words or 'none'}" for name, words in state.items()) or "nothing"


def _awaited(about: Concern) -> Iterator[str]:
    for source in about.facts.coverage.missing:
        yield f"The answer of {source.source}: {source.reason}."
    for source in about.facts.coverage.behind:
        yield f"A newer answer of {source.source}: {in_words(source.lag)}."
    for who, reason in about.left_alone:
        yield f"The end of what is going on: {'' if who == 'It' else who + ', '}{in_words(reason)}."


def amounts_or_nothing(amounts: Amounts, facts: Facts) -> str:
    """`VCPU=1 on h1`, or `nothing`."""
    return amounts_in_words(amounts, facts.provider_names) or "nothing"


def at(time: datetime | None) -> str:
    """` at 2026-11-21 12:00:00`; empty if the time is not known."""
    return f" at {time:%Y-%m-%d %H:%M:%S}" if time else ""


def silent(facts: Facts) -> Iterator[str]:
    """The sources that did not answer."""
    for source in facts.coverage.missing:
        yield f"{source.source} did not answer: {source.reason}."
