# SPDX-License-Identifier: Apache-2.0
"""Dangling rows: inventories, allocations, traits or aggregates of a provider that does not exist.

Drift B.46: Placement's tables have no foreign keys that would prevent it. Such rows have no
effect until the database gives the id of the provider out again.

Only Placement's own database shows such rows.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts
from trueup.reconcile.findings import Declined, Finding, Severity, Verdict
from trueup.reconcile.ledger_faults import FSCK, findings_of
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.steps import Step

NAME = "dangling-rows"
TITLE = "Rows belong to a provider that does not exist"
REMEDY = "None over Placement's API: its database is repaired"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Findings for the faults of this kind that Placement's database shows."""
    yield from findings_of("dangling", NAME, Severity.LOW, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """None. SAFETY: a plan never writes SQL to the ledger beside the service."""
    return FSCK
