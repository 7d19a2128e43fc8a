# SPDX-License-Identifier: Apache-2.0
"""Ironic legacy allocation: an instance holds processors and memory of a bare metal node.

Drift B.27: since Queens a bare metal node has one unit of its own resource class, and no inventory
of VCPU, MEMORY_MB or DISK_GB. Instances that were not migrated hold the old classes.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts
from trueup.reconcile.findings import (
    Declined,
    Evidence,
    Finding,
    Severity,
    Subject,
    Verdict,
    holding,
)
from trueup.reconcile.nodes import IRONIC, judged_hosts, node_evidence
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.steps import Step

NAME = "ironic-legacy-allocation"
TITLE = "Instances hold processors, memory or disk of a bare metal node"
REMEDY = "None by Trueup: the flavor has to name the resource class of the node first"
SEVERITIES = (Severity.MEDIUM,)

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


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """None: the flavor has to name the resource class of the node first."""
    return Declined(
        "set `resources:CUSTOM_<class>=1` and `resources:VCPU=0`, `resources:MEMORY_MB=0`, "
        "`resources:DISK_GB=0` on the flavor, and give each consumer what it should hold with "
        "`openstack resource provider allocation set --allocation "
        f"rp={finding.subject.uuid},CUSTOM_<class>=1`"
    )
