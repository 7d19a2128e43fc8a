# SPDX-License-Identifier: Apache-2.0
"""Overcommitted inventory: consumers hold more of a class than the provider's capacity.

Somebody changed the allocation ratio, the total or the reserved amount to less than what is in use.
Trueup never lowers what instances hold to make it fit.
"""

from collections.abc import Iterator
from dataclasses import replace

from trueup.reconcile.facts import ONE_USE_TRAIT, Facts, Inventory, Provider
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.bare_metal import is_bare_metal_provider
from trueup.reconcile.rules.nodes import provider_evidence
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

NAME = "overcommitted-inventory"
TITLE = "More of a resource class is in use than its provider has"
REMEDY = "None by Trueup: move instances away, or correct the inventory's configuration"
SEVERITIES = (Severity.CRITICAL,)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Providers that have a class whose usage exceeds its capacity."""
    for provider in sorted(facts.providers.values(), key=lambda row: (row.name, row.uuid)):
        if not facts.judges(provider.uuid):
            continue
        if rows := tuple(_overfull(provider, facts)):
            evidence: Evidence = {"provider": provider_evidence(provider), "classes": rows}
            subject = Subject("provider", provider.uuid)
            yield Finding(NAME, subject, provider.name, Severity.CRITICAL, evidence)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None. SAFETY: instances use what they hold, so Trueup never lowers it to make it fit."""
    return because("move-instances-away", provider=finding.where)


def _overfull(provider: Provider, facts: Facts) -> Iterator[Structure]:
    used = facts.used.get(provider.uuid, {})
    is_reserved_in_use = _reserved_in_use(provider, facts)
    for name, inventory in sorted(provider.inventories.items()):
        capacity = inventory.capacity
        if is_reserved_in_use or _drained(provider, inventory):
            capacity = replace(inventory, reserved=0).capacity
        if used.get(name, 0) > capacity:
            yield _row(name, used[name], inventory)


def _reserved_in_use(provider: Provider, facts: Facts) -> bool:
    """Whether Nova reserves all of it on purpose while it is in use.

    Nova does so for bare metal nodes and single-use devices.
    """
    return is_bare_metal_provider(provider, facts) or ONE_USE_TRAIT in (provider.traits or ())


def _drained(provider: Provider, inventory: Inventory) -> bool:
    """Whether an operator reserved a whole device: no more is placed there, and its users stay.

    Cyborg disables a device in this way, and Nova keeps what an operator reserves of PCI devices.
    """
    return provider.parent is not None and inventory.reserved == inventory.total


def _row(name: str, used: int, inventory: Inventory) -> Structure:
    return {
        "name": name,
        "used": used,
        "capacity": inventory.capacity,
        "total": inventory.total,
        "reserved": inventory.reserved,
        "allocation_ratio": f"{inventory.allocation_ratio:g}",
    }
