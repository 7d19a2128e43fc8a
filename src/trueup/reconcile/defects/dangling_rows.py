# SPDX-License-Identifier: Apache-2.0
"""Dangling rows: inventories, allocations, traits or aggregates of a provider that does not exist.

Placement's tables have no foreign keys that would prevent it. Such rows have no effect until the
database gives the id of the provider out again.

Only Placement's own database shows such rows.
"""

from trueup.reconcile.rules.ledger_faults import by_fsck, finder
from trueup.reconcile.verdicts import Need, Scope, Severity

NAME = "dangling-rows"
TITLE = "Rows belong to a provider that does not exist"
REMEDY = "None in a plan: repair Placement's database with `trueup-manage db fsck`"
SEVERITIES = (Severity.LOW,)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION

find = finder("dangling", NAME, Severity.LOW)
remedy = by_fsck
