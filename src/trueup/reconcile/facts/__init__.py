# SPDX-License-Identifier: Apache-2.0
"""Facts: everything that was read of a cloud in one run, and which sources answered.

Frozen values, one file for each kind of thing; nothing here reads or writes anything outside.
"""

from trueup.reconcile.facts.coverage import (
    DOMAINS_OF,
    LIBVIRT,
    NEUTRON,
    OWNERS,
    PLACEMENT,
    Coverage,
    SourceStatus,
    Unread,
    Unsupported,
)
from trueup.reconcile.facts.domains import Domain, DomainRecord
from trueup.reconcile.facts.facts import (
    Facts,
    canonical_uuid,
    grouped,
    outside_trees,
    without_ports,
)
from trueup.reconcile.facts.hosts import (
    SERVICE_DOWN_AFTER,
    ComputeNode,
    ComputeService,
    HostAggregate,
    HostMapping,
    PciDevice,
)
from trueup.reconcile.facts.instances import (
    AssignedResource,
    BlockDevice,
    BuildRequest,
    Flavor,
    Instance,
    InstanceMapping,
    NumaCell,
    NumaTopology,
    PciRequest,
    RequestSpec,
)
from trueup.reconcile.facts.ledger import FaultKind, LedgerFault
from trueup.reconcile.facts.migrations import FINAL_MIGRATION_STATUSES, Migration, last_change
from trueup.reconcile.facts.ports import NetworkAgent, Port, PortRequestGroup
from trueup.reconcile.facts.providers import (
    DISABLED_TRAIT,
    JUDGED_TRAITS,
    NODE_TRAIT,
    ONE_USE_TRAIT,
    OWNER_TRAIT,
    PORT_CLASSES,
    PORT_TRAITS,
    Allocations,
    Amounts,
    Holding,
    Inventory,
    Owner,
    Provider,
    within_trees,
)
from trueup.reconcile.facts.records import InstanceRecord

__all__ = [
    "DISABLED_TRAIT",
    "DOMAINS_OF",
    "FINAL_MIGRATION_STATUSES",
    "JUDGED_TRAITS",
    "LIBVIRT",
    "NEUTRON",
    "NODE_TRAIT",
    "ONE_USE_TRAIT",
    "OWNERS",
    "OWNER_TRAIT",
    "PLACEMENT",
    "PORT_CLASSES",
    "PORT_TRAITS",
    "SERVICE_DOWN_AFTER",
    "Allocations",
    "Amounts",
    "AssignedResource",
    "BlockDevice",
    "BuildRequest",
    "ComputeNode",
    "ComputeService",
    "Coverage",
    "Domain",
    "DomainRecord",
    "Facts",
    "FaultKind",
    "Flavor",
    "Holding",
    "HostAggregate",
    "HostMapping",
    "Instance",
    "InstanceMapping",
    "InstanceRecord",
    "Inventory",
    "LedgerFault",
    "Migration",
    "NetworkAgent",
    "NumaCell",
    "NumaTopology",
    "Owner",
    "PciDevice",
    "PciRequest",
    "Port",
    "PortRequestGroup",
    "Provider",
    "RequestSpec",
    "SourceStatus",
    "Unread",
    "Unsupported",
    "canonical_uuid",
    "grouped",
    "last_change",
    "outside_trees",
    "within_trees",
    "without_ports",
]
