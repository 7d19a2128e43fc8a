# SPDX-License-Identifier: Apache-2.0
"""An audit as one document for programs; docs/audit.schema.json describes it.

Numbers are numbers, times are ISO 8601 in UTC, providers have a uuid and a name.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from trueup.reconcile.audit import Audit
from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.facts import SourceStatus
from trueup.reconcile.report.audit_view import ShownAudit
from trueup.reconcile.report.effects import FindingEffect, Miscount
from trueup.reconcile.report.reasons import in_words, reason_document
from trueup.reconcile.verdicts import (
    Acknowledged,
    Acknowledgement,
    Finding,
    LeftAlone,
    Remark,
    Severity,
    Subject,
    Unchecked,
)

# Incremented when a field is removed or changes its meaning, but not for new fields.
FORMAT = 1
# What follows an audit with findings.
NEXT_PLAN = "trueup plan --out plan.json"
Document = dict[str, Any]
_TITLES = {defect.NAME: defect.TITLE for defect in DEFECTS}


def audit_document(
    what: ShownAudit,
    effects: Mapping[str, FindingEffect],
    version: str,
    plan: Document | None = None,
) -> Document:
    """The document; `version` is Trueup's, `effects` are the effects of findings, by id.

    `plan` is the command that plans a repair, with the options that it needs, as `next_command`.
    """
    audit = what.audit
    return {
        "format": FORMAT,
        "trueup": version,
        "taken_at": moment(audit.taken_at),
        "complete": not audit.incomplete,
        "counts": _counts(what),
        "filter": {
            "defects": sorted(what.view.defects),
            "severity": what.view.severity.value if what.view.severity else None,
        },
        "coverage": [_source(row) for row in audit.coverage.sources],
        "findings": [_finding(row, audit, effects[row.id]) for row in what.findings],
        "muted": [
            _finding(muted.finding, audit, effects[muted.finding.id])
            | {"acknowledgement": _acknowledgement(muted.acknowledgement)}
            for muted in audit.muted
        ],
        "unchecked": _reasoned(audit.unchecked),
        "not_judged": [{"defect": row.defect, "lacks": row.lacks} for row in audit.not_judged],
        "hanging": [_with_reason(row) | {"ends": row.ends} for row in audit.hanging],
        "acknowledged": [_acknowledged(row) for row in audit.acknowledged],
        "next": [plan or next_command("plan a repair", NEXT_PLAN)] if audit.findings else [],
    } | (_everything(what) if what.view.everything else {})


def _everything(what: ShownAudit) -> Document:
    """Everything left alone, and a remark about every other instance and consumer."""
    return {
        "left_alone": [
            _with_reason(row) | _age(row.since, what.audit) for row in what.audit.left_alone
        ],
        "right": _reasoned(row for row in what.remarks if row.right),
        "not_checked": _reasoned(row for row in what.remarks if not row.right),
    }


def next_command(purpose: str, command: str) -> Document:
    """What one may do next, as a command line."""
    return {"to": purpose, "command": command}


def moment(time: datetime) -> str:
    """A time of the facts (UTC) in ISO 8601."""
    return time.isoformat(timespec="seconds") + "Z"


def _counts(what: ShownAudit) -> Document:
    audit = what.audit
    severities = Counter(row.severity for row in audit.findings)
    return {
        "findings": len(audit.findings),
        "shown": len(what.findings),
        "hidden": what.hidden,
        "muted": len(audit.muted),
        "unchecked": len(audit.unchecked),
        "silent_sources": len(audit.coverage.missing),
        "left_alone": len(audit.left_alone),
        "right": what.right,
        "not_checked": what.not_checked,
        "by_severity": {severity.value: severities[severity] for severity in Severity},
        "by_defect": dict(sorted(Counter(row.defect for row in audit.findings).items())),
    }


def _source(row: SourceStatus) -> Document:
    return {
        "source": row.source,
        "answered": row.answered,
        "answered_at": moment(row.answered_at) if row.answered_at else None,
        "read_via": row.read_via,
        "rows": row.rows,
        "reason": row.reason,
        "behind": in_words(row.lag),
        "lost_rows": row.lost_rows,
        "not_understood": row.unread_rows,
        "not_understood_examples": [
            {
                "table": example.table,
                "row": example.row,
                "column": example.column,
                "reason": example.reason,
            }
            for example in row.unread
        ],
        "unsupported": [{"what": gap.what, "reason": gap.reason} for gap in row.unsupported],
    }


def _finding(row: Finding, audit: Audit, effect: FindingEffect) -> Document:
    return {
        "id": row.id,
        "defect": row.defect,
        "title": _TITLES.get(row.defect, row.defect),
        "severity": row.severity.value,
        "subject": _subject(row.subject),
        "where": row.where,
        **_age(row.since, audit),
        "effect": {
            "capacity": [
                {"provider": count.uuid, "name": count.name, "resources": dict(count.resources)}
                for count in effect.capacity
            ],
            "quota": _quota(effect.quota),
        },
        "remedy": {
            "steps": len(effect.steps),
            "declined": in_words(effect.declined) or None,
            "why": reason_document(effect.declined),
        },
        "evidence": row.evidence,
    }


def _quota(counts: Iterable[Miscount]) -> list[Document]:
    return [{"project": count.uuid, "resources": dict(count.resources)} for count in counts]


def _subject(subject: Subject) -> Document:
    return {"kind": subject.kind, "uuid": subject.uuid}


def _reasoned(rows: Iterable[Unchecked | LeftAlone | Remark]) -> list[Document]:
    return [_with_reason(row) for row in rows]


def _with_reason(row: Unchecked | LeftAlone | Remark) -> Document:
    return {
        "subject": _subject(row.subject),
        "where": row.where,
        "reason": in_words(row.reason),
        "why": reason_document(row.reason),
    }


def _age(since: datetime | None, audit: Audit) -> Document:
    """A start time, and the age at the time of the audit."""
    age = max(0, int((audit.taken_at - since).total_seconds())) if since else None
    return {"since": moment(since) if since else None, "age_seconds": age}


def _acknowledgement(one: Acknowledgement) -> Document:
    return {
        "kind": one.kind,
        "name": one.name,
        "reason": one.reason,
        "until": one.until.isoformat(),
        "by": one.by,
    } | ({"provider": one.provider} if one.provider else {})


def _acknowledged(row: Acknowledged) -> Document:
    return _acknowledgement(row.acknowledgement) | {
        "expired": row.expired,
        "answered": list(map(in_words, row.answered)),
    }
