# SPDX-License-Identifier: Apache-2.0
"""Broken tree: a provider's root is not the top of its tree, or its parents do not lead to one.

Drift B.30, Launchpad 1799892, 1803925: upstream's API does not list a provider without a root, and
candidates of the tree are wrong or missing.

Only Placement's own database shows such providers.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts
from trueup.reconcile.findings import Declined, Finding, Severity, Verdict
from trueup.reconcile.ledger_faults import FSCK, findings_of
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.steps import Step

NAME = "broken-tree"
TITLE = "Its parents and its root contradict each other"
REMEDY = "None over Placement's API: its database is repaired"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Findings for the faults of this kind that Placement's database shows."""
    yield from findings_of("tree", NAME, Severity.HIGH, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """None. SAFETY: a plan never writes SQL to the ledger beside the service."""
    return FSCK
