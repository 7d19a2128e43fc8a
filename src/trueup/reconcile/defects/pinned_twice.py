# SPDX-License-Identifier: Apache-2.0
"""Pinned twice: several instances are pinned to one processor, or one to a missing processor.

Before Train, a live migration kept the processors of the source. A changed `cpu_dedicated_set` or
an exchanged host removes processors. Guests then slow each other down, and the next start of one of
them fails. Placement counts only how many processors are in use.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from trueup.reconcile.facts import ComputeNode, Facts, Instance
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.claims import OnHost, all_claims
from trueup.reconcile.rules.nodes import judged_nodes
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Evidence,
    Finding,
    Need,
    Scope,
    Severity,
    Structure,
    Subject,
    Verdict,
)

NAME = "pinned-twice"
TITLE = "Instances of a host are pinned to the same processor, or to one that it does not have"
REMEDY = "None by Trueup: move the instances, so that Nova pins them again"
SEVERITIES = (Severity.MEDIUM,)
NEEDS = (Need.NUMA_TOPOLOGIES,)
SCOPE = Scope.WHOLE_CLOUD

_Place = tuple[str, str | None, str | None]


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """The hosts with such processors. SAFETY: an instance in motion is pinned on two hosts."""
    pinned = _pinned(facts)
    for node in judged_nodes(facts):
        processors = pinned.get((node.cell, node.host, node.node))
        if processors and (rows := tuple(_wrong(node, processors))):
            evidence: Evidence = {"processors": rows}
            yield Finding(NAME, Subject("host", node.host), node.host, Severity.MEDIUM, evidence)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None: only Nova pins instances."""
    return because("nova-pins-again")


def _pinned(facts: Facts) -> Mapping[_Place, Mapping[int, list[Instance]]]:
    """The settled instances of each host, by processor."""
    found: dict[_Place, dict[int, list[Instance]]] = defaultdict(lambda: defaultdict(list))
    for claim in all_claims(facts):
        row = claim.instance
        if not isinstance(claim, OnHost) or row.numa_topology is None:
            continue
        for cell in row.numa_topology.cells or ():
            for processor in cell.host_processors:
                found[row.cell, row.host, row.node][processor].append(row)
    return found


def _wrong(node: ComputeNode, processors: Mapping[int, list[Instance]]) -> Iterator[Structure]:
    cells = node.numa.cells if node.numa else None
    there = {processor for cell in cells or () for processor in cell.shared | cell.dedicated}
    for processor, instances in sorted(processors.items()):
        missing = cells is not None and processor not in there
        if missing or len({row.uuid for row in instances}) > 1:
            names = sorted(f"{row.name} {row.uuid}" for row in instances)
            yield {
                "processor": processor,
                "host_has_it": "no" if missing else "yes",
                "instances": ", ".join(names),
            }
