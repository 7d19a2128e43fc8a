# SPDX-License-Identifier: Apache-2.0
"""Faults of Placement's own rows as findings, one for each provider or table. Pure."""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts, FaultKind, grouped
from trueup.reconcile.findings import Declined, Finding, Severity, Structure, Subject

FSCK = Declined(
    "stop Placement, take a backup of its database, and run `trueup-manage db fsck --repair`, "
    "which says what it changes; then audit again"
)


def findings_of(
    kind: FaultKind, defect: str, severity: Severity, facts: Facts
) -> Iterator[Finding]:
    """The faults of one kind, on the providers and tables that are judged."""
    faults = (row for row in facts.ledger_faults if row.kind == kind and facts.judges(row.subject))
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
