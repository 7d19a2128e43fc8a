# SPDX-License-Identifier: Apache-2.0
"""Broken tree: a provider's root is not the top of its tree, or its parents lead to no root.

Or the provider of a compute node is not a root.

Launchpad 1799892, 1803925: upstream's API does not list a provider without a root, and candidates
of the tree are wrong or missing. Placement's database shows every such provider; its API shows
those that it lists.
"""

from trueup.reconcile.facts import HOST_BELOW, Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.ledger_faults import by_fsck, finder
from trueup.reconcile.verdicts import Finding, Need, Scope, Severity

NAME = "broken-tree"
TITLE = "The parents and the root of a provider contradict each other, or a host is not a root"
REMEDY = (
    "None in a plan: repair Placement's database, or take the host's provider out of the other tree"
)
SEVERITIES = (Severity.HIGH,)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION

find = finder("tree", NAME, Severity.HIGH)


def remedy(finding: Finding, facts: Facts) -> Reason:
    """No step. A plan moves no provider: what consumers hold in such a tree is not certain."""
    uuid = finding.subject.uuid
    if any(broken.what == HOST_BELOW and broken.provider.uuid == uuid for broken in facts.broken):
        return because("take-out-of-tree", provider=uuid)
    return by_fsck(finding, facts)
