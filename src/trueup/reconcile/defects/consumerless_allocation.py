# SPDX-License-Identifier: Apache-2.0
"""Consumerless allocation: allocations whose consumer has no row in Placement's database.

Drift B.44, Launchpad 1780799: such allocations count as usage, but no listing of allocations shows
them. Placement refuses to delete the provider, and does not show what holds its resources.

Only Placement's own database shows such allocations.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts
from trueup.reconcile.findings import Declined, Finding, Severity, Verdict
from trueup.reconcile.ledger_faults import FSCK, findings_of
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.steps import Step

NAME = "consumerless-allocation"
TITLE = "Consumers that have no row hold its resources"
REMEDY = "None over Placement's API: its database is repaired"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Findings for the faults of this kind that Placement's database shows."""
    yield from findings_of("consumerless", NAME, Severity.HIGH, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """None. SAFETY: a plan never writes SQL to the ledger beside the service."""
    return FSCK
