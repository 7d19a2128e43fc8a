# SPDX-License-Identifier: Apache-2.0
"""The page as a value: all that it says, before anything of it is HTML. Pure."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from trueup.reconcile.audit import Audit, Observation
from trueup.reconcile.facts import SourceStatus, grouped
from trueup.reconcile.page.cards import DefectGroup, defect_groups
from trueup.reconcile.page.history import Plot
from trueup.reconcile.page.placeable import Placeables
from trueup.reconcile.page.split import CapacitySplit, capacity_splits, summed
from trueup.reconcile.page.timeline import Timeline, timeline
from trueup.reconcile.page.trees import CellTree, Ground, HostTree, cell_trees, other_trees
from trueup.reconcile.page.trend import Trend
from trueup.reconcile.report.coverage import gaps_of
from trueup.reconcile.report.effects import FindingEffect, effects_of
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.rules.host_states import host_states
from trueup.reconcile.runs.journal import Journal
from trueup.reconcile.runs.journals import Unreadable
from trueup.reconcile.verdicts import Acknowledged, Finding, LeftAlone, Severity, Unchecked
from trueup.reconcile.wording import counted

# Only a command of trueup itself: what else a reason names has a condition in its sentence.
_RUNBOOK = re.compile(r"`(trueup (?:rekey|merge) [^`]+)`")
_NEXT_MAX = 10
Tone = Literal["clean", "findings", "incomplete"]


@dataclass(frozen=True, slots=True)
class Headline:
    """The result of the audit in one line, with remarks."""

    tone: Tone
    words: str
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CoverageRow:
    """One source. `state` is a word: answered, partly, behind or silent."""

    source: str
    state: Literal["answered", "partly", "behind", "silent"]
    answered_at: datetime | None
    read_via: str
    rows: int
    gaps: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class NextCommand:
    """A command to type, and what it is for."""

    words: str
    purpose: str


@dataclass(frozen=True, slots=True)
class ReasonGroup:
    """Subjects with one reason, each as `instance 0f3c… on h1`."""

    reason: str
    subjects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SeverityCount:
    """How many findings, not muted, are of a severity."""

    severity: Severity
    count: int


@dataclass(frozen=True, slots=True)
class Page:
    """Everything on the page, in its order. `origin` says what was audited, `version` by what.

    `history` and `trends` are of the rounds of a watch, `returns` what came back in them, and
    `repairs` what its repairs do. `reasons` counts what has each reason, by verdict and by the name
    of the reason.
    """

    taken_at: datetime
    origin: str
    version: str
    headline: Headline
    hosts: str
    severities: tuple[SeverityCount, ...]
    coverage: tuple[CoverageRow, ...]
    next: tuple[NextCommand, ...]
    totals: tuple[CapacitySplit, ...]
    selected: bool
    cells: tuple[CellTree, ...]
    others: tuple[HostTree, ...]
    groups: tuple[DefectGroup, ...]
    hanging: tuple[ReasonGroup, ...]
    unchecked: tuple[ReasonGroup, ...]
    left_alone: tuple[ReasonGroup, ...]
    acknowledged: tuple[Acknowledged, ...]
    timeline: Timeline
    reasons: Mapping[tuple[str, str], int]
    placeables: Placeables
    history: Plot | None = None
    trends: tuple[Trend, ...] = ()
    returns: tuple[str, ...] = ()
    repairs: str = ""


def page_of(
    seen: Observation,
    journals: Iterable[Journal | Unreadable],
    origin: str,
    version: str,
    placeables: Placeables,
) -> Page:
    """The page about an observation, with what fits, and the runs that there are journals of."""
    facts, audit = seen.facts, seen.audit
    effects = effects_of(audit.every_finding, facts, audit.findings)
    splits = capacity_splits(facts, audit, effects)
    ground = Ground(facts, audit, effects, splits)
    happened = timeline(audit, facts.cells, journals)
    return Page(
        taken_at=audit.taken_at,
        origin=origin,
        version=version,
        headline=headline_of(audit),
        hosts=host_states(facts).words,
        severities=_severities(audit),
        coverage=tuple(_source(row) for row in audit.coverage.sources),
        next=_next(audit, effects, happened),
        totals=summed(split for rows in splits.values() for split in rows),
        selected=facts.hosts_in_scope is not None,
        cells=cell_trees(ground),
        others=other_trees(ground),
        groups=defect_groups(audit, effects, facts),
        hanging=_by_reason(audit.hanging),
        unchecked=_by_reason(row for row in audit.unchecked if not row.ends),
        left_alone=_by_reason(row for row in audit.left_alone if not row.ends),
        acknowledged=audit.acknowledged,
        timeline=happened,
        reasons=_reasons(audit, effects),
        placeables=placeables,
    )


def with_commands(page: Page, complete: Callable[[str], str], where: str = "") -> Page:
    """The same page, whose next commands have the options that they need.

    `where`: where those about the cloud are to be given, if not where this one was.
    """
    return replace(
        page,
        next=tuple(NextCommand(complete(row.words), f"{row.purpose}{where}") for row in page.next),
    )


def _reasons(audit: Audit, effects: Mapping[str, FindingEffect]) -> Mapping[tuple[str, str], int]:
    declined = (effects[row.id].declined for row in audit.findings)
    every = (
        *(("unchecked", row.reason) for row in audit.unchecked),
        *(("left-alone", row.reason) for row in audit.left_alone),
        *(("declined", reason) for reason in declined if reason),
    )
    return Counter((verdict, name) for verdict, reason in every for name in reason.names)


def headline_of(audit: Audit) -> Headline:
    """The verdict in words. Silence is never an all-clear."""
    found = counted(len(audit.findings), "finding")
    remarks = []
    if gap := audit.coverage.gap:
        remarks.append(f"{in_words(gap)}.")
    remarks += (
        f"{row.source} has no {', '.join(gap.what for gap in row.unsupported)}: see Coverage."
        for row in audit.coverage.sources
        if row.unsupported
    )
    if audit.unchecked:
        remarks.append(f"{counted(len(audit.unchecked), 'subject')} could not be checked.")
    if audit.hanging:
        remarks.append(f"{len(audit.hanging)} under way cannot end by themselves: see below.")
    if audit.muted:
        remarks.append(f"{counted(len(audit.muted), 'finding')} more, muted by an operator.")
    if audit.incomplete:
        words = f"The evidence is incomplete: {found}, and there may be more"
        return Headline("incomplete", words, tuple(remarks))
    if audit.findings:
        return Headline("findings", found, tuple(remarks))
    return Headline("clean", _clean(audit), tuple(remarks))


def _clean(audit: Audit) -> str:
    """The verdict about the ledger, with a note about what hangs in Nova."""
    if not audit.left_alone:
        return "No drift found"
    more = f"; {len(audit.hanging)} of them cannot end by themselves" if audit.hanging else ""
    return f"No drift found. {len(audit.left_alone)} left alone{more}"


def _severities(audit: Audit) -> tuple[SeverityCount, ...]:
    counts = (
        (severity, sum(row.severity is severity for row in audit.findings)) for severity in Severity
    )
    return tuple(SeverityCount(severity, count) for severity, count in counts if count)


def _source(row: SourceStatus) -> CoverageRow:
    return CoverageRow(
        source=row.source,
        state=(
            "silent" if not row.answered
            else "behind" if row.lag
            else "partly" if row.partial
            else "answered"
        ),
        answered_at=row.answered_at,
        read_via=row.read_via,
        rows=row.rows,
        gaps=tuple((({"behind": in_words(row.lag)} if row.lag else {}) | gaps_of(row)).items()),
    )  # fmt: skip


def _next(
    audit: Audit, effects: Mapping[str, FindingEffect], happened: Timeline
) -> tuple[NextCommand, ...]:
    """The next commands, in order."""
    commands = []
    for run in happened.unresolved:
        purpose = "see the steps of this run whose result is unknown; apply its plan again"
        commands.append(NextCommand(f"trueup journal {run}", purpose))
    if audit.coverage.missing or audit.coverage.behind:
        sources = ", ".join(row.source for row in (*audit.coverage.missing, *audit.coverage.behind))
        commands.append(NextCommand("trueup audit", f"audit again when {sources} answers"))
    if audit.hanging:
        purpose = "what hangs is listed below, each with what ends it"
        commands.append(NextCommand("trueup explain instance UUID", purpose))
    if any(effects[row.id].steps for row in audit.findings):
        commands += (
            NextCommand("trueup plan --out plan.json", "observe again and plan guarded steps"),
            NextCommand("trueup plan show plan.json", "read what each step would change"),
            NextCommand("trueup rehearse plan.json", "apply the plan to a copy"),
            NextCommand("trueup apply plan.json", "write it, step by step, with a journal"),
        )
    by_hand = (
        _by_hand(row, effects[row.id]) for row in audit.findings if not effects[row.id].steps
    )
    return (*commands, *{command.words: command for command in by_hand}.values())[:_NEXT_MAX]


def _by_hand(row: Finding, effect: FindingEffect) -> NextCommand:
    """For a finding that no plan repairs: the runbook that its reason names, or its defect."""
    runbook = _RUNBOOK.search(in_words(effect.declined))
    if runbook:
        return NextCommand(runbook[1], f"no plan repairs {row.id}: see what this would do")
    return NextCommand(f"trueup defects {row.defect}", "no plan repairs this: read what does")


def _by_reason(rows: Iterable[Unchecked | LeftAlone]) -> tuple[ReasonGroup, ...]:
    """The reasons that most subjects have come first."""
    found = grouped(
        (
            in_words(row.reason),
            f"{row.subject} on {row.where}" if row.where else str(row.subject),
        )
        for row in rows
    )
    groups = (ReasonGroup(reason, subjects) for reason, subjects in found.items())
    return tuple(sorted(groups, key=lambda row: (-len(row.subjects), row.reason)))
