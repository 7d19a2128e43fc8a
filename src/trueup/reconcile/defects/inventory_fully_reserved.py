# SPDX-License-Identifier: Apache-2.0
"""Inventory fully reserved: a host takes instances, and Placement has nothing of it to give.

nova-compute reserves what `reserved_host_memory_mb` and `reserved_host_cpus` say. Once that is all
that the host has, every request passes it by, and no log says so. All of its disk may be reserved
on purpose, where instances have volumes only.
"""

from collections.abc import Iterator, Mapping

from trueup.reconcile.facts import Facts, Inventory
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.bare_metal import IRONIC
from trueup.reconcile.rules.nodes import is_up, judged_hosts, newly_made, service_of
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Finding,
    LeftAlone,
    Need,
    Scope,
    Severity,
    Structure,
    Subject,
    Verdict,
)

NAME = "inventory-fully-reserved"
TITLE = "A host has all of its processors or memory reserved, so nothing is scheduled there"
REMEDY = "None by Trueup: nova-compute reports what nova.conf says"
SEVERITIES = (Severity.MEDIUM,)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION

# Every flavor requests a class of each kind; the classes of one kind replace each other.
_KINDS = (("VCPU", "PCPU"), ("MEMORY_MB",))


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Hosts that are up and enabled, but have fully reserved what every flavor needs."""
    for node, provider in judged_hosts(facts):
        service = service_of(node, facts)
        if node.hypervisor == IRONIC or not is_up(node, facts) or not service or service.disabled:
            # The host takes no instances, or Nova reserves a bare metal node that is in use.
            continue
        used, rows = facts.used.get(provider.uuid, {}), _reserved(provider.inventories)
        if not rows or any(used.get(name) for name in rows):
            continue
        subject = Subject("provider", provider.uuid)
        if reason := newly_made(node, facts, options):
            yield LeftAlone(subject, node.host, reason)
            continue
        reserved: tuple[Structure, ...] = tuple(
            {"name": name, "total": inventory.total, "reserved": inventory.reserved}
            for name, inventory in rows.items()
        )
        yield Finding(NAME, subject, node.host, Severity.MEDIUM, {"inventories": reserved})


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None: nova-compute would write its own inventory again within a minute."""
    return because("lower-reserved", host=finding.where)


def _reserved(inventories: Mapping[str, Inventory]) -> dict[str, Inventory]:
    """The inventories of the first kind that is fully reserved, by resource class."""
    for kind in _KINDS:
        found = {name: inventories[name] for name in kind if name in inventories}
        if found and all(inventory.reserved >= inventory.total for inventory in found.values()):
            return found
    return {}
