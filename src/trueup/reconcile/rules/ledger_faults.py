# SPDX-License-Identifier: Apache-2.0
"""Faults of Placement's own rows as findings, one for each provider or table. Pure."""

from collections.abc import Callable, Iterator

from trueup.reconcile.facts import Facts, FaultKind, LedgerFault, grouped
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.verdicts import (
    AuditOptions,
    Finding,
    Severity,
    Structure,
    Subject,
    Verdict,
)

_FSCK = because("run-fsck")


def finder(
    kind: FaultKind, defect: str, severity: Severity
) -> Callable[[Facts, AuditOptions], Iterator[Verdict]]:
    """The `find` of a defect: findings for the faults of this kind."""

    def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
        """Findings for the faults of this kind that the ledger shows."""
        yield from _findings(kind, defect, severity, facts)

    return find


def by_fsck(finding: Finding, facts: Facts) -> Reason:
    """The remedy: no step. SAFETY: a plan never writes SQL to the ledger beside the service."""
    return _FSCK


def _findings(kind: FaultKind, defect: str, severity: Severity, facts: Facts) -> Iterator[Finding]:
    """The faults of one kind, on the providers and tables that are judged."""
    faults = [row for row in _faults(kind, facts) if facts.judges(row.subject)]
    for subject, rows in sorted(grouped((row.subject, row) for row in faults).items()):
        provider = facts.providers.get(subject)
        evidence: tuple[Structure, ...] = tuple(
            {
                "name": row.what,
                "resource_class": row.resource_class or None,
                "amount": row.amount or None,
            }
            for row in rows
        )
        where = provider.name if provider else subject
        yield Finding(defect, Subject("provider", subject), where, severity, {"rows": evidence})


def _faults(kind: FaultKind, facts: Facts) -> Iterator[LedgerFault]:
    """The faults of one kind; faults of trees are also seen in the providers themselves."""
    read = [row for row in facts.ledger_faults if row.kind == kind]
    yield from read
    if kind == "tree":
        reported = {row.subject for row in read}
        for broken in facts.broken:
            if broken.provider.uuid not in reported:
                yield LedgerFault(kind, broken.provider.uuid, str(broken))
