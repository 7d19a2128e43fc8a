# SPDX-License-Identifier: Apache-2.0
"""Host mapping missing: Nova's API does not know in which cell a compute host is.

Launchpad 1735719, 1747936: the scheduler does not choose the host, and aggregates cannot take it.
`discover_hosts` was not run, or the mapping was deleted.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import ComputeNode, Facts, HostMapping
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.nodes import judged_nodes, newly_made, node_evidence
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Evidence,
    Finding,
    LeftAlone,
    Need,
    Scope,
    Severity,
    Subject,
    Unchecked,
    Verdict,
)

NAME = "host-mapping-missing"
TITLE = "A host is mapped to no cell, or to the wrong one"
REMEDY = "None by Trueup, which never writes to Nova's databases"
SEVERITIES = (Severity.MEDIUM,)
NEEDS = (Need.HOST_MAPPINGS,)
SCOPE = Scope.SELECTION

_NO_CELL = "a cell that does not exist"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Hosts that have a compute node in a cell, but no mapping to that cell."""
    seen: set[str] = set()
    for node in judged_nodes(facts):
        mapping = facts.host_mapping.get(node.host)
        if node.host in seen or (mapping is not None and mapping.cell == node.cell):
            continue
        seen.add(node.host)
        subject = Subject("host", node.host)
        if mapping is None and (written := _in_other_letters(node, facts)):
            cell = facts.cells.get(written.cell, _NO_CELL)
            reason = because("mapped-in-other-letters", written=written.host, cell=cell)
            yield Unchecked(subject, node.node, reason)
            continue
        if moving := _in_progress_reason(node, facts, options):
            yield LeftAlone(subject, node.node, moving)
            continue
        mapped = facts.cells.get(mapping.cell, mapping.cell or _NO_CELL) if mapping else "no cell"
        evidence: Evidence = {"compute_node": node_evidence(node, facts), "mapped_to": mapped}
        yield Finding(NAME, subject, node.node, Severity.MEDIUM, evidence)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None: the operator runs Nova's own commands."""
    host = finding.subject.uuid
    mapping = facts.host_mapping.get(host)
    cell = min(row.cell for row in facts.compute_nodes if row.host == host)
    if mapping is None:
        return because("discover-host", cell=cell)
    if (mapping.cell, host) in facts.nodes_by_host:
        # SAFETY: mapping one of the two would unmap the other.
        return because("host-name-twice", host=host)
    if not mapping.cell:
        # PARITY: `delete_host` needs the cell, and Nova has none with this number.
        return because("host-mapping-without-cell", cell=cell)
    return because("host-mapping-wrong", mapped=mapping.cell, host=host, cell=cell)


def _in_other_letters(node: ComputeNode, facts: Facts) -> HostMapping | None:
    """The host mapping whose name differs only in the case of letters, to any cell; or None.

    On MySQL it is the host's own, so discover_hosts finds nothing to map; on PostgreSQL it is not.
    """
    folded, others = node.host.casefold(), facts.host_mapping.values()
    return next((row for row in others if row.host.casefold() == folded), None)


def _in_progress_reason(node: ComputeNode, facts: Facts, options: AuditOptions) -> Reason | None:
    if node.cell in facts.disabled_cells:
        return because("cell-disabled", cell=facts.cells[node.cell])
    return newly_made(node, facts, options)
