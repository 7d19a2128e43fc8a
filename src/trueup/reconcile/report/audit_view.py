# SPDX-License-Identifier: Apache-2.0
"""The shown findings of an audit, and their order; a view never changes a verdict. Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from trueup.reconcile.audit import Audit
from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.verdicts import Finding, Remark, Severity

Order = Literal["severity", "host", "defect"]
# Worst first; within a severity, in the order of the defects.
_SEVERITIES = {severity: number for number, severity in enumerate(Severity)}
_DEFECTS = {defect.NAME: number for number, defect in enumerate(DEFECTS)}


@dataclass(frozen=True, slots=True)
class AuditView:
    """Filters of an audit: these defects (empty: all), and a minimal severity.

    `everything` also shows what was left alone, and a remark about all other subjects.
    """

    defects: frozenset[str] = frozenset()
    severity: Severity | None = None
    everything: bool = False
    order: Order = "severity"

    def shows(self, finding: Finding) -> bool:
        """Whether a finding passes the filters."""
        least = self.severity or Severity.LOW
        named = not self.defects or finding.defect in self.defects
        return named and _SEVERITIES[finding.severity] <= _SEVERITIES[least]


@dataclass(frozen=True, slots=True)
class ShownAudit:
    """An audit with the findings that a view shows, in its order, and the number of hidden ones.

    `right` and `not_checked` count the instances and consumers without a verdict; `remarks` are
    about each of them, if the view shows everything.
    """

    audit: Audit
    view: AuditView
    findings: tuple[Finding, ...]
    hidden: int
    right: int = 0
    not_checked: int = 0
    remarks: tuple[Remark, ...] = ()


def shown(audit: Audit, view: AuditView, remarks: Iterable[Remark] = ()) -> ShownAudit:
    """An audit as a view shows it; `remarks` are about all subjects without a verdict."""
    findings = [row for row in audit.findings if view.shows(row)]
    counted, kept = Counter[bool](), list[Remark]()
    for row in remarks:
        counted[row.right] += 1
        if view.everything:
            kept.append(row)
    return ShownAudit(
        audit=audit,
        view=view,
        findings=tuple(_in_order(findings, view.order)),
        hidden=len(audit.findings) - len(findings),
        right=counted[True],
        not_checked=counted[False],
        remarks=tuple(kept),
    )


def _in_order(findings: Iterable[Finding], order: Order) -> list[Finding]:
    """Worst first; by host or defect, the group with the worst finding first."""
    worst_first = sorted(findings, key=lambda row: (_rank(row), row.where, row.subject))
    groups: dict[str, list[Finding]] = {}
    for row in worst_first:
        groups.setdefault(_group(row, order), []).append(row)
    return [row for rows in groups.values() for row in rows]


def _group(finding: Finding, order: Order) -> str:
    return {"severity": "", "host": finding.where, "defect": finding.defect}[order]


def _rank(finding: Finding) -> tuple[int, int]:
    return _SEVERITIES[finding.severity], _DEFECTS.get(finding.defect, len(_DEFECTS))
