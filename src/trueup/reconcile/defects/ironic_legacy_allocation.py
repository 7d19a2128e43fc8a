# SPDX-License-Identifier: Apache-2.0
"""Ironic legacy allocation: an instance holds processors and memory of a bare metal node.

Since Queens a bare metal node has one unit of its own resource class, and no inventory of VCPU,
MEMORY_MB or DISK_GB. Instances that were not migrated hold the old classes.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts, Owner
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.bare_metal import IRONIC
from trueup.reconcile.rules.nodes import judged_hosts, node_evidence
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

NAME = "ironic-legacy-allocation"
TITLE = "Instances hold processors, memory or disk of a bare metal node"
REMEDY = "None by Trueup: the flavor has to name the resource class of the node first"
SEVERITIES = (Severity.MEDIUM,)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION

_LEGACY = ("VCPU", "MEMORY_MB", "DISK_GB")


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Ironic's nodes on which an instance holds a resource class of virtual machines."""
    for node, provider in judged_hosts(facts):
        used = facts.used.get(provider.uuid, {})
        legacy = {name: used[name] for name in _LEGACY if used.get(name)}
        if node.hypervisor != IRONIC or not legacy:
            continue
        evidence: Evidence = {
            "compute_node": node_evidence(node, facts),
            "held": holding({provider.uuid: legacy}, facts.provider_names),
        }
        yield Finding(
            NAME, Subject("provider", provider.uuid), node.host, Severity.MEDIUM, evidence
        )


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None: the flavor has to name the resource class of the node first."""
    provider = facts.providers[finding.subject.uuid]
    own = sorted(name for name in provider.inventories if name.startswith("CUSTOM_"))
    if len(own) != 1:
        return because("node-without-class", provider=provider.uuid)
    held = facts.consumers_of.get(provider.uuid, ())
    legacy = [
        consumer
        for consumer in held
        if set(_LEGACY) & facts.consumers[consumer][provider.uuid].keys()
    ]
    each = "; ".join(
        f"`{_replacement(consumer, provider.uuid, own[0], facts)}`" for consumer in legacy
    )
    none = " ".join(f"--property resources:{name}=0" for name in _LEGACY)
    return because("flavor-names-class", resource_class=own[0], properties=none, commands=each)


def _replacement(consumer: str, node: str, own: str, facts: Facts) -> str:
    """The command of osc-placement that exchanges what a consumer holds of the node.

    It replaces everything, so it also names what is kept. Since 1.38 it needs a consumer type.
    """
    after = {
        uuid: {name: amount for name, amount in held.items() if uuid != node or name not in _LEGACY}
        for uuid, held in facts.consumers[consumer].items()
    }
    after[node][own] = 1
    rows = (
        f"--allocation rp={uuid},{','.join(f'{name}={held[name]}' for name in sorted(held))}"
        for uuid, held in sorted(after.items())
    )
    owner = _owner(consumer, facts)
    return (
        "openstack --os-placement-api-version 1.28 resource provider allocation set "
        f"--project-id {owner.project or 'PROJECT'} --user-id {owner.user or 'USER'} "
        f"{' '.join(rows)} {consumer}"
    )


def _owner(consumer: str, facts: Facts) -> Owner:
    """The owner of a consumer, by Nova or else by Placement; empty where neither knows it."""
    if instance := facts.alive.get(consumer):
        return Owner(instance.project, instance.user)
    return facts.owners.get(consumer, Owner("", ""))
