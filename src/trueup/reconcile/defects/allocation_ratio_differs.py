# SPDX-License-Identifier: Apache-2.0
"""Allocation ratio differs: it is zero, or not the one that the host's aggregates name.

Launchpad 1789654: a ratio of zero stays, because nova-compute keeps the ratio that Placement has.
Nova had filters that read ratios from aggregates. Placement counts since Ocata, and nothing copies
these ratios to it. So neither heals by itself.
"""

from collections.abc import Iterator, Mapping
from math import isclose, isfinite, nan

from trueup.reconcile.facts import ComputeNode, Facts, Provider
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.bare_metal import IRONIC
from trueup.reconcile.rules.nodes import judged_hosts, newly_made, of_another_cell
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
    Unchecked,
    Verdict,
)

NAME = "allocation-ratio-differs"
TITLE = "An allocation ratio in Placement is zero, or not the one that a host aggregate names"
REMEDY = "None by Trueup: the operator decides which ratio is right"
SEVERITIES = (Severity.MEDIUM, Severity.LOW)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION

# The resource class of each key of aggregates.
_KEYS = {
    "cpu_allocation_ratio": "VCPU",
    "ram_allocation_ratio": "MEMORY_MB",
    "disk_allocation_ratio": "DISK_GB",
}


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Hosts with such a ratio; a bare metal node has none of these classes."""
    for node, provider in judged_hosts(facts):
        if node.hypervisor == IRONIC:
            continue
        named, unreadable = _named(node, facts)
        rows = tuple(_wrong(provider, named, facts))
        if not rows and not unreadable:
            continue
        subject = Subject("provider", provider.uuid)
        if reason := newly_made(node, facts, options):
            yield LeftAlone(subject, node.host, reason)
        elif named and (reason := of_another_cell(node, facts)):
            yield Unchecked(subject, node.host, reason)
        elif rows:
            is_zero = any(row["in_placement"] == "0" for row in rows)
            severity = Severity.MEDIUM if is_zero else Severity.LOW
            evidence: Evidence = {"ratios": rows}
            yield Finding(NAME, subject, node.host, severity, evidence)
        else:
            yield Unchecked(subject, node.host, because("ratio-no-number", keys=unreadable))


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None: a ratio that was set over Placement's API on purpose looks the same."""
    return because("set-ratio", provider=finding.subject.uuid)


def _named(node: ComputeNode, facts: Facts) -> tuple[Mapping[str, float], tuple[str, ...]]:
    """The least ratio of each class that the host's aggregates name; and keys without a number.

    Nova's filters took the least.
    """
    found: dict[str, float] = {}
    unreadable = set()
    for aggregate in facts.nova_aggregates_of(node.host):
        for key in _KEYS.keys() & aggregate.metadata.keys():
            ratio = _number(aggregate.metadata[key])
            if isfinite(ratio):
                found[_KEYS[key]] = min(ratio, found.get(_KEYS[key], ratio))
            else:
                unreadable.add(f"{key} of {aggregate.name}")
    return found, tuple(sorted(unreadable))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return nan


def _wrong(provider: Provider, named: Mapping[str, float], facts: Facts) -> Iterator[Structure]:
    """The classes with a wrong ratio. What is in use of a class of zero is over-full: a finding."""
    used = facts.used.get(provider.uuid, {})
    for name in _KEYS.values():
        inventory = provider.inventories.get(name)
        if inventory is None:
            continue
        ratio, wanted = inventory.allocation_ratio, named.get(name)
        # Placement's databases store it with 24 bits.
        differs = wanted is not None and not isclose(ratio, wanted, rel_tol=1e-6)
        if differs or (ratio == 0 and not used.get(name)):
            of_aggregates = "none" if wanted is None else f"{wanted:g}"
            yield {"name": name, "in_placement": f"{ratio:g}", "of_aggregates": of_aggregates}
