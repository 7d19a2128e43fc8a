# SPDX-License-Identifier: Apache-2.0
"""Quotas as a table, and as the document of docs/quota.schema.json."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from trueup.reconcile.facts import Quotas
from trueup.reconcile.report.quotas import QuotaRow
from trueup.reconcile.report.tables import Cell, Table

# Incremented when a field is removed or changes its meaning, but not for new fields.
FORMAT = 1
QUOTA_COLUMNS = (
    "Project", "Resource", "Limit", "Nova", "Placement", "No instance", "Repair", "Note",
)  # fmt: skip


def quota_table(rows: Iterable[QuotaRow]) -> Table:
    """A row for each limit of each project."""
    return QUOTA_COLUMNS, [_cells(row) for row in rows]


def _cells(row: QuotaRow) -> tuple[Cell, ...]:
    changes = (f"-{row.phantom}" if row.phantom else "", f"+{row.missing}" if row.missing else "")
    return (
        row.project,
        row.resource,
        "none set" if row.limit is None else "unlimited" if row.limit < 0 else row.limit,
        row.nova,
        row.placement,
        "not read" if row.strangers is None else row.strangers,
        " ".join(filter(None, changes)),
        "; ".join(row.notes),
    )


def quota_document(
    rows: Iterable[QuotaRow], quotas: Quotas, unregistered: Iterable[str], complete: bool
) -> Mapping[str, Any]:
    """The document of these limits. `complete`: every source answered."""
    rules = quotas.rules
    return {
        "format": FORMAT,
        "complete": complete,
        "unified": rules.unified,
        "counted_from_placement": rules.unified or rules.from_placement,
        "keystone_read": quotas.unified is not None,
        "enforcement_model": quotas.unified.model if quotas.unified else None,
        "unregistered": list(unregistered),
        "limits": [
            asdict(row)
            | {"repaired": row.repaired, "notes": [note.name.lower() for note in row.notes]}
            for row in rows
        ],
    }
