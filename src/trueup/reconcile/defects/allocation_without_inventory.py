# SPDX-License-Identifier: Apache-2.0
"""Allocation without inventory: consumers hold a class that their provider has no inventory of.

Placement's usages leave such an allocation out, but Placement refuses to delete the provider. If
another provider of the tree has the class, a reshape is incomplete.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts, Provider
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.nodes import provider_evidence
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Evidence,
    Finding,
    Need,
    Scope,
    Severity,
    Subject,
    Verdict,
    holding,
)

NAME = "allocation-without-inventory"
TITLE = "Consumers hold a resource class of a provider that has no inventory of it"
REMEDY = "None by Trueup: nova-compute reports the inventory again when it starts"
SEVERITIES = (Severity.HIGH,)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Providers with allocations of a class that no provider of their tree has in its inventory."""
    for uuid in sorted(facts.used.keys() & facts.providers.keys()):
        provider = facts.providers[uuid]
        if not facts.judges(uuid):
            continue
        if held := _without_inventory(provider, facts):
            evidence: Evidence = {
                "provider": provider_evidence(provider),
                "held": holding({uuid: held}, facts.provider_names),
            }
            subject = Subject("provider", uuid)
            yield Finding(NAME, subject, provider.name, Severity.HIGH, evidence)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None: only the service that owns the provider knows its inventory."""
    return because("service-reports-inventory")


def _without_inventory(provider: Provider, facts: Facts) -> dict[str, int]:
    used = facts.used[provider.uuid]
    lacking = used.keys() - provider.inventories.keys()
    if not lacking:
        return {}
    tree = facts.trees[provider.root]
    elsewhere = {name for row in tree for name in row.inventories}
    return {name: used[name] for name in sorted(lacking - elsewhere)}
