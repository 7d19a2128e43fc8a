# SPDX-License-Identifier: Apache-2.0
"""A run as messages for sinks: it began, a step ended, it ended. docs/outcome.schema.json.

Each names the last line of the journal at that time and its digest: who keeps the messages can
prove that the journal still is what it was.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from trueup.reconcile.changes import permanent_in
from trueup.reconcile.clock import now
from trueup.reconcile.report.audit_document import moment, next_command
from trueup.reconcile.report.reasons import in_words, reason_document
from trueup.reconcile.report.tables import step_result
from trueup.reconcile.runs.journal import Journal, Origin, Outcome
from trueup.reconcile.sinks import Message
from trueup.reconcile.steps import Step

FORMAT = 1
# A command with the options that it needs to find the cloud and the journals.
Complete = Callable[[str], str]
Document = dict[str, Any]
_CADF = "http://schemas.dmtf.org/cloud/audit/1.0/event"
# The root of the ids of our CADF events, which have to be UUIDs.
_EVENTS = UUID("5f2d3b0e-7c55-4a35-9a5e-1d2f6c0b8e11")
_CADF_OUTCOMES = {"done": "success", "refused": "failure", "unknown": "unknown"}


def run_began(journal: Journal) -> Message:
    """A run begins, or goes on: who, where, and how much."""
    plan = journal.plan
    defects = Counter(finding.defect for finding in plan.findings)
    document = _head(journal, "run-began", now()) | {
        "plan": plan.id,
        "planned_by": plan.made_by,
        "approved_by": [approval.by for approval in journal.origin.approvals],
        "unattended": journal.unattended,
        "undoes": plan.undoes,
        "began_at": moment(journal.began_at),
        "steps": len(plan.steps),
        "subjects": len(plan.subjects),
        "findings": dict(sorted(defects.items())),
    }
    return _message(journal, document, now(), "start", "pending")


def step_ended(journal: Journal, step: Step, outcome: Outcome) -> Message:
    """How a step ended."""
    at = journal.outcome_at(step) or now()
    names = journal.plan.names
    document = _head(journal, "step-ended", at) | {
        "step": step.id,
        "subjects": {uuid: names.get(uuid, "") for uuid in sorted(step.subjects)},
        "because": list(step.because),
        "result": outcome.result,
        "reason": in_words(outcome.reason) if outcome.reason else None,
        "why": reason_document(outcome.reason),
        "contested": outcome.contested,
        "requests": list(outcome.request_ids),
        "taken_back_by": journal.taken_back_by(step),
    }
    return _message(journal, document, at, "update", _CADF_OUTCOMES[outcome.result])


def run_ended(journal: Journal, stopped: str = "", complete: Complete = str) -> Message:
    """How a run ended. `stopped`: why it did not come to all of its steps."""
    results = Counter(step_result(step, journal) for step in journal.plan.steps)
    document = _head(journal, "run-ended", now()) | {
        "undoes": journal.plan.undoes,
        "done": results["done"],
        "refused": results["refused"],
        "unknown": results["unknown"],
        "not_attempted": results["open"],
        "taken_back": results["taken back"],
        "stopped": stopped or None,
        "next": next_commands(journal, complete),
    }
    bad = stopped or results["refused"] or results["unknown"] or results["open"]
    return _message(journal, document, now(), "stop", "failure" if bad else "success")


def next_commands(journal: Journal, complete: Complete) -> list[Document]:
    """What one may do after a run, as command lines."""
    in_place = [step for step, _ in journal.in_place]
    commands = {"see each step": f"trueup journal {journal.run}"}
    if in_place and journal.plan.undoes is None:
        commands["check that it helped"] = f"trueup verify {journal.run}"
    is_open = any(journal.fate_open(step) for step in journal.plan.steps)
    if (in_place or is_open) and permanent_in(in_place) is None:
        commands["take it back"] = f"trueup undo {journal.run}"
    return [next_command(purpose, complete(command)) for purpose, command in commands.items()]


def _head(journal: Journal, kind: str, at: datetime) -> Document:
    line, digest = journal.head
    origin = journal.origin
    return {
        "format": FORMAT,
        "event": kind,
        "at": moment(at),
        "run": journal.run,
        "by": {"user": origin.user, "host": origin.host},
        "endpoint": origin.endpoint,
        "journal": {"line": line, "digest": digest},
    }


def _message(
    journal: Journal, document: Document, at: datetime, action: str, outcome: str
) -> Message:
    kind, line = document["event"], document["journal"]["line"]
    name = f"{journal.run}/{kind}/{document.get('step', '')}/{line}"
    return message_of(name, document, at, (journal.origin, action, outcome))


def message_of(
    name: str, document: Document, at: datetime, doing: tuple[Origin, str, str]
) -> Message:
    """A message of this name; `doing` is who does what, and how it ended, in CADF's words."""
    kind, outcome = document["event"], doing[2]
    cadf = _cadf(document, *doing) | {
        "id": str(uuid5(_EVENTS, name)),
        "eventTime": f"{at:%Y-%m-%dT%H:%M:%S.%f}+0000",
    }
    return Message(name, kind, at, document, cadf, grave=outcome in ("failure", "unknown"))


def _cadf(document: Mapping[str, Any], origin: Origin, action: str, outcome: str) -> Document:
    """An event of CADF, but for its id and time; what it has no field for is attached."""
    subjects = document.get("subjects")
    targets = sorted(subjects) if isinstance(subjects, dict) else []
    target = targets[0] if len(targets) == 1 else origin.endpoint or "placement"
    event: Document = {
        "typeURI": _CADF,
        "eventType": "activity",
        "action": action,
        "outcome": outcome,
        "initiator": {
            "id": f"{origin.user}@{origin.host}",
            "typeURI": "data/security/account/user",
            "name": origin.user,
            "host": {"agent": "trueup", "address": origin.host},
        },
        "target": {"id": target, "typeURI": "data/database" if targets else "service/database"},
        "observer": {
            "id": f"trueup@{origin.host}",
            "typeURI": "service/security",
            "name": "trueup",
        },
        "attachments": [
            {"name": "trueup", "typeURI": "application/json", "content": dict(document)}
        ],
    }
    if document.get("reason"):
        event["reason"] = {"reasonType": "trueup", "reasonCode": document["reason"]}
    return event
