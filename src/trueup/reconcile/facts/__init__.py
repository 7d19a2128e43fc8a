# SPDX-License-Identifier: Apache-2.0
"""Facts: everything that was read of a cloud in one run, and which sources answered.

Frozen values, one file for each kind of thing; nothing here reads or writes anything outside.
"""

from trueup.reconcile.facts.coverage import (
    DOMAINS_OF,
    INSTANCE_MAPPINGS,
    LIBVIRT,
    NEUTRON,
    OLD_FLAVORS,
    OWNERS,
    PLACEMENT,
    Coverage,
    SourceStatus,
    Unread,
    Unsupported,
)
from trueup.reconcile.facts.domains import Domain, DomainRecord
from trueup.reconcile.facts.facts import Facts, grouped, outside_trees, without_ports
from trueup.reconcile.facts.hosts import (
    SERVICE_DOWN_AFTER,
    ComputeNode,
    ComputeService,
    Hardware,
    HostAggregate,
    HostDefaults,
    HostMapping,
    PciDevice,
    as_compared,
)
from trueup.reconcile.facts.instances import (
    AssignedResource,
    BlockDevice,
    BuildRequest,
    Flavor,
    Instance,
    InstanceMapping,
    InstanceState,
    NumaCell,
    NumaTopology,
    PciRequest,
    RequestSpec,
    instance_state,
)
from trueup.reconcile.facts.ledger import FaultKind, LedgerFault
from trueup.reconcile.facts.limits import Limits, QuotaRules, Quotas
from trueup.reconcile.facts.migrations import FINAL_MIGRATION_STATUSES, Migration, last_change
from trueup.reconcile.facts.numa import HostCell, HostTopology, MemoryPages
from trueup.reconcile.facts.ports import NetworkAgent, Port, PortRequestGroup
from trueup.reconcile.facts.providers import (
    DISABLED_TRAIT,
    JUDGED_TRAITS,
    NODE_TRAIT,
    ONE_USE_TRAIT,
    OWNER_TRAIT,
    PCI_TRAIT,
    PORT_CLASSES,
    PORT_TRAITS,
    Allocations,
    Amounts,
    Holding,
    Inventory,
    Owner,
    Provider,
    pci_address,
    within_trees,
)
from trueup.reconcile.facts.records import InstanceRecord
from trueup.reconcile.facts.scheduling import (
    ScheduledServer,
    ScheduleRequest,
    SchedulerHost,
    SchedulerOptions,
    ServerGroup,
    named_instances,
)
from trueup.reconcile.facts.trees import HOST_BELOW
from trueup.reconcile.facts.uuids import canonical_uuid, is_uuid
