# SPDX-License-Identifier: Apache-2.0
"""An audit as a table: findings, worst first, then muted, unchecked and acknowledged rows."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime

from trueup.reconcile.facts import Instance
from trueup.reconcile.report.audit_view import ShownAudit
from trueup.reconcile.report.effects import FindingEffect
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.tables import Cell, Columns, EvidenceCell, Table
from trueup.reconcile.verdicts import (
    Acknowledged,
    Acknowledgement,
    Finding,
    LeftAlone,
    Remark,
    Unchecked,
)
from trueup.reconcile.wording import age_in_words

_Row = tuple[Cell, ...]
_COLUMNS: Columns = (
    "Verdict", "Severity", "Defect", "Kind", "Subject", "Where", "Age", "Effect", "Evidence",
)  # fmt: skip
# The column that orders the findings comes first.
_FIRST = {"severity": "Verdict", "host": "Where", "defect": "Defect"}


def audit_columns(order: str) -> Columns:
    """The columns of an audit table in this order."""
    first = _FIRST[order]
    return (first, *(name for name in _COLUMNS if name != first))


def audit_table(
    what: ShownAudit, effects: Mapping[str, FindingEffect], alive: Mapping[str, Instance]
) -> Table:
    """The table of a shown audit; `effects` are the effects of findings, by id.

    `alive` are the instances whose names may be shown.
    """
    columns = audit_columns(what.view.order)
    order = [_COLUMNS.index(name) for name in columns]
    return columns, [tuple(row[number] for number in order) for row in _rows(what, effects, alive)]


def _rows(
    what: ShownAudit, effects: Mapping[str, FindingEffect], alive: Mapping[str, Instance]
) -> Iterator[_Row]:
    audit = what.audit
    for finding in what.findings:
        yield _finding("finding", finding, audit.taken_at, effects)
    for muted in audit.muted:
        row = _finding("muted", muted.finding, audit.taken_at, effects)
        yield (*row[:-1], _because(muted.acknowledgement))
    for source in audit.coverage.missing:
        reason = {"reason": f"did not answer: {source.reason}"}
        yield "could not check", "", "", "source", source.source, "", "", "", reason
    yield from _reasoned("could not check", audit.unchecked, alive)
    for row_of in audit.acknowledged:
        yield _acknowledged(row_of, {source.source for source in audit.coverage.sources})
    for one_left in audit.left_alone:
        if one_left.ends or what.view.everything:
            yield _left_alone(one_left, audit.taken_at, alive)
    if what.view.everything:
        for remark in what.remarks:
            yield from _reasoned("right" if remark.right else "not checked", (remark,), alive)


def _finding(
    verdict: str, row: Finding, now: datetime, effects: Mapping[str, FindingEffect]
) -> _Row:
    return (
        verdict,
        row.severity.value,
        row.defect,
        row.subject.kind,
        row.subject.uuid,
        row.where,
        _age(row.since, now),
        _effect(effects[row.id]),
        EvidenceCell(row.evidence),
    )


def _effect(effect: FindingEffect) -> dict[str, str]:
    """The miscounts of providers and projects; empty if no remedy says them."""
    parts = {"capacity": effect.capacity, "quota": effect.quota}
    return {
        label: "; ".join(count.words for count in counts)
        for label, counts in parts.items()
        if counts
    }


def _because(one: Acknowledgement) -> dict[str, str]:
    by = {"by": one.by} if one.by else {}
    return {"because": one.reason, "until": one.until.isoformat(), **by}


def _acknowledged(row: Acknowledged, sources: Collection[str]) -> _Row:
    """What it answers, or why nothing. `sources` are cells by name, and other sources."""
    one = row.acknowledgement
    said = _because(one) | ({"provider": one.provider} if one.provider else {})
    if row.expired:
        said["reason"] = "it has expired, and no longer applies"
    elif row.answered:
        said["answers"] = "; ".join(map(in_words, row.answered))
    elif one.kind == "finding":
        said["reason"] = "there is no such finding any more; remove it from the file"
    elif one.kind == "lagging-replica" and one.name not in sources:
        said["reason"] = "no cell has this name"
    elif one.kind in ("host-gone", "foreign-owner", "unoffered-class"):
        said["reason"] = "nothing in this audit is about this name"
    return "acknowledged", "", "", one.kind, one.name, "", "", "", said


def _left_alone(row: LeftAlone, now: datetime, alive: Mapping[str, Instance]) -> _Row:
    [left] = _reasoned("left alone", [row], alive)
    return (*left[:6], _age(row.since, now), *left[7:])


def _reasoned(
    verdict: str,
    rows: Iterable[Unchecked | LeftAlone | Remark],
    alive: Mapping[str, Instance],
) -> Iterator[_Row]:
    for row in rows:
        subject = row.subject
        instance = alive.get(subject.uuid)
        name = {"instance": instance.name} if instance else {}
        reason = {**name, "reason": in_words(row.reason)}
        yield verdict, "", "", subject.kind, subject.uuid, row.where, "", "", reason


def _age(since: datetime | None, now: datetime) -> str:
    return age_in_words(now - since) if since else ""
