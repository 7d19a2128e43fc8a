# SPDX-License-Identifier: Apache-2.0
"""Audit: facts become findings, subjects not checked, and subjects left alone. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from trueup.reconcile.audit.unexplained import unexplained
from trueup.reconcile.defects import DEFECTS, ask, not_judged
from trueup.reconcile.facts import Coverage, Facts, without_ports
from trueup.reconcile.garbage import garbage_left
from trueup.reconcile.rules.freshness import with_freshness
from trueup.reconcile.rules.in_progress import in_progress
from trueup.reconcile.rules.machines import doubled
from trueup.reconcile.rules.strangers import rows_lost, strangers
from trueup.reconcile.rules.unjudged_hosts import (
    providers_of_nobody,
    unjudged_hosts,
    without_service,
)
from trueup.reconcile.verdicts import (
    Acknowledged,
    Acknowledgement,
    AuditOptions,
    Finding,
    LeftAlone,
    Muted,
    NotJudged,
    Unchecked,
    Verdicts,
    answer,
    with_choices,
)


@dataclass(frozen=True, slots=True)
class Audit:
    """All results of an audit of one set of facts, in a fixed order."""

    taken_at: datetime
    coverage: Coverage
    findings: tuple[Finding, ...]
    unchecked: tuple[Unchecked, ...]
    left_alone: tuple[LeftAlone, ...]
    acknowledged: tuple[Acknowledged, ...] = ()
    muted: tuple[Muted, ...] = ()
    not_judged: tuple[NotJudged, ...] = ()

    @property
    def every_finding(self) -> tuple[Finding, ...]:
        """All findings, with the muted ones."""
        return (*self.findings, *(row.finding for row in self.muted))

    @property
    def hanging(self) -> tuple[Unchecked | LeftAlone, ...]:
        """What is under way and cannot end by itself; each says what ends it."""
        every: tuple[Unchecked | LeftAlone, ...] = (*self.unchecked, *self.left_alone)
        return tuple(row for row in every if row.ends)

    @property
    def incomplete(self) -> bool:
        """Whether a source was silent, or a subject could not be checked."""
        return not self.coverage.complete or bool(self.unchecked)


@garbage_left()
def audit(facts: Facts, options: AuditOptions) -> Audit:
    """Ask every defect, then remove what the operator has acknowledged."""
    return answered(_audit(facts, options), options.acknowledgements)


def answered(result: Audit, acknowledgements: Iterable[Acknowledgement]) -> Audit:
    """This audit without the verdicts that these further acknowledgements answer."""
    verdicts = Verdicts(result.findings, result.unchecked, result.left_alone)
    rest = answer(verdicts, acknowledgements, result.taken_at.date())
    return replace(
        result,
        findings=rest.findings,
        unchecked=rest.unchecked,
        left_alone=rest.left_alone,
        acknowledged=(*result.acknowledged, *rest.acknowledged),
        muted=(*result.muted, *rest.muted),
    )


def judged(facts: Facts, options: AuditOptions) -> Facts:
    """These facts with what the options add: the cells that may be behind, and choices."""
    fresh = with_choices(with_freshness(facts, options), options.acknowledgements)
    return without_ports(fresh) if options.without_ports else fresh


def _audit(facts: Facts, options: AuditOptions) -> Audit:
    facts = judged(facts, options)
    verdicts = [verdict for defect in DEFECTS for verdict in ask(defect, facts, options)]
    findings = tuple(row for row in verdicts if isinstance(row, Finding))
    moving = tuple(in_progress(facts, options))
    covered = {row.subject.uuid for row in (*verdicts, *moving)}
    covered |= {consumer for row in findings for consumer in row.consumers}
    lost = tuple(rows_lost(facts, covered))
    covered |= {row.subject.uuid for row in lost}
    nobodys = tuple(providers_of_nobody(facts))
    found = {row.subject for row in findings}
    hanging = (row for row in moving if isinstance(row, Unchecked))
    return Audit(
        taken_at=facts.taken_at,
        coverage=facts.coverage,
        findings=findings,
        unchecked=(
            *doubled(facts),
            *unjudged_hosts(facts, covered),
            *without_service(facts),
            *lost,
            *(row for row in hanging if row.subject not in found),
            *(row for row in (*verdicts, *nobodys) if isinstance(row, Unchecked)),
            *unexplained(facts, covered),
        ),
        left_alone=(
            *(row for row in moving if isinstance(row, LeftAlone) and row.subject not in found),
            *strangers(facts, covered),
            *(row for row in (*verdicts, *nobodys) if isinstance(row, LeftAlone)),
        ),
        not_judged=not_judged(facts),
    )
