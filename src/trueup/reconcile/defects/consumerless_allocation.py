# SPDX-License-Identifier: Apache-2.0
"""Consumerless allocation: allocations whose consumer has no row in Placement's database.

Drift B.44, Launchpad 1780799: such allocations count as usage, but no listing of allocations shows
them. Placement refuses to delete the provider, and does not show what holds its resources.

Only Placement's own database shows such allocations.
"""

from trueup.reconcile.findings import Severity
from trueup.reconcile.ledger_faults import by_fsck, finder

NAME = "consumerless-allocation"
TITLE = "Consumers that have no row hold its resources"
REMEDY = "None over Placement's API: its database is repaired"
SEVERITIES = (Severity.HIGH,)

find = finder("consumerless", NAME, Severity.HIGH)
remedy = by_fsck
