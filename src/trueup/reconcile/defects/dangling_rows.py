# SPDX-License-Identifier: Apache-2.0
"""Dangling rows: inventories, allocations, traits or aggregates of a provider that does not exist.

Drift B.46: Placement's tables have no foreign keys that would prevent it. They are without effect
until the number is given out again.

Only Placement's own database shows them.
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
    """What Placement's database shows of it."""
    yield from findings_of("dangling", NAME, Severity.LOW, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """SAFETY: nothing of ours writes SQL to the ledger beside the service."""
    return FSCK
