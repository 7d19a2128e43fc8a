# SPDX-License-Identifier: Apache-2.0
"""Mapping without cell: Nova mapped an instance, and no cell will ever have it.

Nova makes the mapping and the build request of a boot together, and the mapping gets its cell, or
goes, before the request goes. If the server is deleted in between, the mapping stays for good.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.strangers import never_built
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Finding,
    Need,
    Scope,
    Severity,
    Subject,
    Verdict,
)

NAME = "mapping-without-cell"
TITLE = "Nova mapped an instance to no cell long ago, and no cell has it"
REMEDY = "None by Trueup, which never writes to Nova's databases"
SEVERITIES = (Severity.LOW,)
NEEDS = (Need.INSTANCE_MAPPINGS, Need.COMPLETE)
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Mappings without a cell, of instances that no cell has and that have no build request."""
    for mapping in sorted(facts.instance_mappings, key=lambda row: row.instance):
        # SAFETY: a hypervisor that has its domain knows better than the mapping.
        if never_built(mapping.instance, facts, options) and (
            mapping.instance not in facts.domains_of
        ):
            yield Finding(
                NAME,
                Subject("instance", mapping.instance),
                "no cell",
                Severity.LOW,
                {"project": mapping.project, "cell": None},
                since=mapping.changed_at,
            )


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None: Trueup never writes to Nova's databases."""
    return because("delete-mapping", instance=finding.subject.uuid)
