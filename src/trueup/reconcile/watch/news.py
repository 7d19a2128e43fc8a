# SPDX-License-Identifier: Apache-2.0
"""What the hook of a watch gets when the confirmed findings have changed."""

from collections import Counter
from datetime import timedelta
from typing import Any

from trueup.reconcile.report.audit_document import moment
from trueup.reconcile.sinks import Message
from trueup.reconcile.verdicts import Severity
from trueup.reconcile.watch.memory import Memory, News, Sighting

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
