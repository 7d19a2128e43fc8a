# SPDX-License-Identifier: Apache-2.0
"""Consumerless allocation: allocations whose consumer has no row in Placement's database.

Drift B.44, Launchpad 1780799: they count as used, and no listing of allocations has them. Placement
refuses to delete the provider, and shows nothing that holds it.

Only Placement's own database shows them.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts
from trueup.reconcile.findings import Declined, Finding, Severity, Verdict
from trueup.reconcile.ledger_faults import FSCK, findings_of
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.steps import Step

NAME = "consumerless-allocation"
TITLE = "Resources are held of it by consumers that have no row"
REMEDY = "None over Placement's API: its database is repaired"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """What Placement's database shows of it."""
    yield from findings_of("consumerless", NAME, Severity.HIGH, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """SAFETY: nothing of ours writes SQL to the ledger beside the service."""
    return FSCK
