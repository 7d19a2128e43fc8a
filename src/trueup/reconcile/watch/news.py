# SPDX-License-Identifier: Apache-2.0
"""What sinks get of a watch: the confirmed findings have changed, and what repairs do."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from trueup.reconcile.account import host_name, user_name
from trueup.reconcile.plan import Plan
from trueup.reconcile.report.audit_document import moment, next_command
from trueup.reconcile.report.reasons import in_words, reason_document
from trueup.reconcile.report.run_messages import Complete, message_of
from trueup.reconcile.runs.journal import Origin
from trueup.reconcile.sinks import Message
from trueup.reconcile.verdicts import Severity
from trueup.reconcile.verdicts.verified import Verified
from trueup.reconcile.watch.memory import Memory, News, Sighting
from trueup.reconcile.watch.repairs import Stop

FORMAT = 1


def news_message(memory: Memory, news: News, interval: timedelta) -> Message:
    """The news as a message."""
    last = memory.rounds[-1]
    document = news_document(memory, news, interval)
    return Message(f"watch/{moment(last.at)}", "findings-changed", last.at, document)


def news_document(memory: Memory, news: News, interval: timedelta) -> dict[str, Any]:
    """What the hook gets: what appeared, what is gone, and how many there are now."""
    last = memory.rounds[-1]
    confirmed = memory.confirmed(interval)
    counts = Counter(sighting.severity for sighting in confirmed)
    return {
        "format": FORMAT,
        "at": moment(last.at),
        "complete": last.state == "complete",
        "unchecked": last.unchecked,
        "findings": len(confirmed),
        "by_severity": {severity.value: counts[severity] for severity in Severity},
        "appeared": [_row(sighting) for sighting in news.appeared],
        "gone": list(news.gone),
    }


def _row(one: Sighting) -> dict[str, Any]:
    return {
        "id": one.id,
        "defect": one.defect,
        "severity": one.severity.value,
        "subject": one.uuid,
        "where": one.where,
        "since": moment(one.since) if one.since else None,
        "first_seen": moment(one.first_seen),
        "returned": one.returned,
    }


def repair_announced(plan: Plan, hosts: Sequence[str], at: datetime) -> Message:
    """The next round repairs these findings, if they are still the same."""
    document = _head("repair-announced", at) | {
        "plan": plan.id,
        "hosts": list(hosts),
        "findings": [row.id for row in plan.findings],
        "steps": [step.id for step in plan.steps],
        "subjects": len(plan.subjects),
    }
    return _repair(plan.id, document, at, "pending")


def repair_ended(
    run: str,
    results: Mapping[str, int],
    verified: Sequence[Verified],
    at: datetime,
    complete: Complete = str,
) -> Message:
    """How a repair ended, and what became of its findings."""
    names = ("done", "refused", "unknown")
    document = _head("repair-ended", at) | {
        "run": run,
        **{name: results.get(name, 0) for name in names},
        "verified": {row.finding.id: row.state.value for row in verified},
        "next": [
            next_command("see each step", complete(f"trueup journal {run}")),
            next_command("take it back", complete(f"trueup undo {run}")),
        ],
    }
    bad = results.get("refused") or results.get("unknown")
    return _repair(run, document, at, "failure" if bad else "success")


def repairs_stopped(stop: Stop, path: str) -> Message:
    """Nothing is repaired until a person removes this file."""
    return _repair(path, stop_document(stop, path), stop.at, "failure")


def stop_document(stop: Stop, path: str) -> dict[str, Any]:
    """Why repairs have stopped, and what ends that."""
    return _head("repairs-stopped", stop.at) | {
        "reason": in_words(stop.reason),
        "why": reason_document(stop.reason),
        "next": [next_command("end the stop, when the cause is gone", f"rm {shlex.quote(path)}")],
    }


def _head(event: str, at: datetime) -> dict[str, Any]:
    return {"format": FORMAT, "event": event, "at": moment(at)}


def _repair(name: str, document: dict[str, Any], at: datetime, outcome: str) -> Message:
    doing = (Origin(user_name(), host_name()), "update", outcome)
    return message_of(f"watch/{document['event']}/{name}/{moment(at)}", document, at, doing)
