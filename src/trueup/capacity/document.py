# SPDX-License-Identifier: Apache-2.0
"""Counts of capacity as one document for programs; docs/capacity.schema.json describes it."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from trueup.capacity import words
from trueup.capacity.counting import Capacity, Count, Row
from trueup.capacity.fragments import unusable
from trueup.capacity.places import unknown_hosts
from trueup.capacity.relocation import Failure
from trueup.reconcile.facts import Facts
from trueup.reconcile.report.audit_document import moment
from trueup.reconcile.report.reasons import in_words

# Raised when something is taken away or changes its meaning; what is added does not raise it.
FORMAT = 1
Document = dict[str, Any]


def capacity_document(
    found: Capacity, taken_at: datetime, complete: bool, version: str
) -> Document:
    """The document; `version` is that of Trueup, `complete` says that every source answered."""
    return {
        "format": FORMAT,
        "trueup": version,
        "taken_at": moment(taken_at),
        "complete": complete,
        "policy": words.policy(found),
        "by": found.by.value,
        "hosts": {
            "counted": len(found.places) - sum(found.left_out.values()),
            "left_out": {why.value: number for why, number in sorted(found.left_out.items())},
            "not_read": list(found.unknown_hosts),
        },
        "flavors": [_row(row, found) for row in found.rows],
        "mix": dict(found.mix) or None,
        "refused": [
            {"name": refused.name, "reason": in_words(refused.reason)}
            for refused in found.not_askable
        ],
    }


def failures_document(failures: Iterable[Failure], facts: Facts, version: str) -> Document:
    """The document of failures; all of them, also those that leave nobody without a place."""
    return {
        "format": FORMAT,
        "trueup": version,
        "taken_at": moment(facts.taken_at),
        "complete": facts.coverage.complete,
        "not_read": [row.name for row in unknown_hosts(facts)],
        "failures": [
            {
                "group": failure.group or None,
                "hosts": list(failure.hosts),
                "servers": len(failure.moves),
                "not_checked": failure.uncertain,
                "without_place": [
                    {"uuid": each.server.uuid, "name": each.server.name, "why": words.move(each)}
                    for each in failure.homeless
                ],
            }
            for failure in failures
        ],
    }


def _row(row: Row, found: Capacity) -> Document:
    free = {} if found.mix else unusable(row, found.free)
    return {
        "name": row.asked.name,
        "group": row.group or None,
        "asks_for": _request(row),
        "now": _count(row.now),
        "after_repair": _count(row.repaired or row.now),
        "after_plan": _count(row.planned) if row.planned else None,
        "free": {name: number for name, (number, _) in free.items()},
        "unusable": {name: number for name, (_, number) in free.items()},
        "at_most": bool(row.gaps),
        "not_counted": [gap.value for gap in sorted(row.gaps)],
        "binds": [
            {"kind": kind.value, "what": name, "hosts": number}
            for (kind, name), number in sorted(
                row.binds.items(), key=lambda pair: (-pair[1], pair[0])
            )
        ],
    }


def _request(row: Row) -> list[Mapping[str, Any]]:
    return [
        {
            "group": group.suffix,
            "resources": dict(group.resources),
            "required": [sorted(any_of) for any_of in group.required],
            "forbidden": sorted(group.forbidden),
        }
        for group in row.asked.request.groups
    ]


def _count(count: Count) -> Document:
    return {"fits": count.fits, "hosts": count.hosts, "most_on_one_host": count.largest}
