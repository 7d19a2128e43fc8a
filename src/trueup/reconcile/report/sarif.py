# SPDX-License-Identifier: Apache-2.0
"""An audit as SARIF 2.1.0, the format in which tools give results to continuous integration.

A defect is a rule, a finding a result, a muted finding a suppressed result. Unchecked subjects and
hidden findings are notifications of the run, so an empty result list is not an all-clear.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.report.audit_document import moment
from trueup.reconcile.report.audit_view import ShownAudit
from trueup.reconcile.report.effects import FindingEffect
from trueup.reconcile.report.reasons import in_words, reason_document
from trueup.reconcile.report.words import evidence_in_words
from trueup.reconcile.verdicts import Acknowledgement, Finding, Severity
from trueup.reconcile.wording import counted

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {
    Severity.CRITICAL: "error",
    Severity.HIGH: "error",
    Severity.MEDIUM: "warning",
    Severity.LOW: "note",
}
_RULES = {defect.NAME: number for number, defect in enumerate(DEFECTS)}
Document = dict[str, Any]


def sarif(what: ShownAudit, effects: Mapping[str, FindingEffect], version: str) -> Document:
    """The log; `version` is Trueup's, `effects` are the effects of findings, by id."""
    audit = what.audit
    results = [_result(row, effects[row.id]) for row in what.findings]
    results += [
        _result(muted.finding, effects[muted.finding.id])
        | {"suppressions": [_suppression(muted.acknowledgement)]}
        for muted in audit.muted
    ]
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver(version)},
                "invocations": [
                    {
                        "executionSuccessful": not audit.incomplete,
                        "endTimeUtc": moment(audit.taken_at),
                        "toolExecutionNotifications": list(_notifications(what)),
                    }
                ],
                "results": results,
            }
        ],
    }


def _driver(version: str) -> Document:
    return {
        "name": "Trueup",
        "version": version,
        "rules": [
            {
                "id": defect.NAME,
                "shortDescription": {"text": f"{defect.TITLE}."},
                "help": {"text": f"{defect.REMEDY}. More: trueup defects {defect.NAME}"},
            }
            for defect in DEFECTS
        ],
    }


def _result(row: Finding, effect: FindingEffect) -> Document:
    evidence = "; ".join(
        f"{label}: {text}" for label, text in evidence_in_words(row.evidence).items()
    )
    title = DEFECTS[_RULES[row.defect]].TITLE
    places = [("resource", row.where)] if row.where else []
    places.append((row.subject.kind, row.subject.uuid))
    return {
        "ruleId": row.defect,
        "ruleIndex": _RULES[row.defect],
        "level": _LEVELS[row.severity],
        "message": {"text": f"{row.subject}: {title}. {evidence}"},
        "locations": [
            {"logicalLocations": [{"name": name, "kind": kind} for kind, name in places]}
        ],
        "partialFingerprints": {"finding/v1": row.id},
        "properties": {
            "severity": row.severity.value,
            "since": moment(row.since) if row.since else None,
            "capacity": [count.words for count in effect.capacity],
            "quota": [count.words for count in effect.quota],
            "declined": in_words(effect.declined) or None,
            "reason": reason_document(effect.declined),
        },
    }


def _suppression(one: Acknowledgement) -> Document:
    until = f"until {one.until.isoformat()}"
    by = f", by {one.by}" if one.by else ""
    return {
        "kind": "external",
        "status": "accepted",
        "justification": f"{one.reason} ({until}{by})",
    }


def _notifications(what: ShownAudit) -> Iterator[Document]:
    audit = what.audit
    if what.hidden:
        hidden = f"{counted(what.hidden, 'finding')} not shown, as --defect or --severity says."
        yield from _notified("note", [hidden])
    yield from _notified(
        "error", (f"{row.source} did not answer: {row.reason}" for row in audit.coverage.missing)
    )
    for row in audit.unchecked:
        [said] = _notified("warning", [f"Could not check {row.subject}: {in_words(row.reason)}"])
        yield said | {"properties": {"reason": reason_document(row.reason)}}


def _notified(level: str, texts: Iterable[str]) -> Iterator[Document]:
    for text in texts:
        yield {"level": level, "message": {"text": text}}
