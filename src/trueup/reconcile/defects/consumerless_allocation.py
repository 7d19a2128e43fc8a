# SPDX-License-Identifier: Apache-2.0
"""Consumerless allocation: usage of a provider that no listed allocation explains.

Launchpad 1780799: allocations whose consumer has no row count as usage, but no listing of
allocations shows them. Placement refuses to delete the provider, and does not show what holds its
resources. If a consumer has several rows of one provider and class, Placement lists only one.
"""

from trueup.reconcile.rules.ledger_faults import by_fsck, finder
from trueup.reconcile.verdicts import Need, Scope, Severity

NAME = "consumerless-allocation"
TITLE = "More of a provider is used than its listed allocations hold"
REMEDY = "None in a plan: repair Placement's database with `trueup-manage db fsck`"
SEVERITIES = (Severity.HIGH,)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION

find = finder("consumerless", NAME, Severity.HIGH)
remedy = by_fsck
