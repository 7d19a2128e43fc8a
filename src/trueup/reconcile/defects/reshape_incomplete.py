# SPDX-License-Identifier: Apache-2.0
"""Reshape incomplete: a class has only half moved from a host's root to a child, or back.

Launchpad 1758086, 1778563: nova-compute says `ReshapeFailed` and does not start. Only the classes
in MOVED, which releases of Nova moved, are judged: other classes may rightly be on both.
"""

from collections import Counter
from collections.abc import Iterator

from trueup.reconcile.facts import Facts, Provider
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.nodes import judged_hosts, newly_made, provider_evidence
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Evidence,
    Finding,
    LeftAlone,
    Need,
    Scope,
    Severity,
    Structure,
    Subject,
    Verdict,
)

NAME = "reshape-incomplete"
TITLE = "A resource class was moved within the tree of a host, but not completely"
REMEDY = "None by Trueup: nova-compute completes the move when it starts"
SEVERITIES = (Severity.HIGH,)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION

# vGPU (Stein) and encrypted memory (2025.2) moved from the root to children.
MOVED = frozenset({"VGPU", "MEM_ENCRYPTION_CONTEXT"})


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Hosts with a moved class on root and child, or with allocations but no inventory of it."""
    for node, root in judged_hosts(facts):
        rows = tuple(_half_moved(root, facts))
        if not rows:
            continue
        subject = Subject("provider", root.uuid)
        if reason := newly_made(node, facts, options):
            yield LeftAlone(subject, root.name, reason)
            continue
        evidence: Evidence = {"provider": provider_evidence(root), "classes": rows}
        yield Finding(NAME, subject, root.name, Severity.HIGH, evidence)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None. SAFETY: only nova-compute knows to which provider a device belongs."""
    return because("restart-ends-reshape")


def _half_moved(root: Provider, facts: Facts) -> Iterator[Structure]:
    tree = facts.trees[root.uuid]
    # PERF: each class is counted once. Comparing all providers with each other is slow in wide
    # trees.
    having = Counter(name for row in tree for name in row.inventories)
    for name in sorted(MOVED & root.inventories.keys()):
        if having[name] > 1:
            yield {"name": name, "inventory": "on the root and on a child"}
    for row in tree:
        for name in sorted(facts.used.get(row.uuid, {}).keys() - row.inventories.keys()):
            if having[name]:
                yield {"name": name, "held_of": row.name, "inventory": "on another provider"}
