# SPDX-License-Identifier: Apache-2.0
"""Broken tree: a provider's root is not the top of its tree, or its parents do not lead to one.

Drift B.30, Launchpad 1799892, 1803925: upstream's API does not list a provider without a root, and
candidates of the tree are wrong or missing. Placement's database shows every such provider; its API
shows those that it lists.
"""

from trueup.reconcile.findings import Severity
from trueup.reconcile.ledger_faults import by_fsck, finder

NAME = "broken-tree"
TITLE = "Its parents and its root contradict each other"
REMEDY = "None over Placement's API: its database is repaired"
SEVERITIES = (Severity.HIGH,)

find = finder("tree", NAME, Severity.HIGH)
remedy = by_fsck
