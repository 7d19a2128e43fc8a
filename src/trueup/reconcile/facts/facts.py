# SPDX-License-Identifier: Apache-2.0
"""Everything that was read of a cloud in one run, with lookups over it."""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, TypeVar

from trueup.reconcile.facts.coverage import DOMAINS_OF, LIBVIRT, NEUTRON, Coverage
from trueup.reconcile.facts.domains import Domain, DomainRecord
from trueup.reconcile.facts.hosts import (
    SERVICE_DOWN_AFTER,
    ComputeNode,
    ComputeService,
    HostAggregate,
    HostMapping,
    PciDevice,
)
from trueup.reconcile.facts.instances import (
    BlockDevice,
    BuildRequest,
    Instance,
    InstanceMapping,
    RequestSpec,
)
from trueup.reconcile.facts.ledger import LedgerFault
from trueup.reconcile.facts.migrations import Migration
from trueup.reconcile.facts.ports import Port
from trueup.reconcile.facts.providers import Amounts, Holding, Owner, Provider
from trueup.reconcile.facts.records import InstanceRecord
from trueup.reconcile.facts.scheduling import ServerGroup
from trueup.reconcile.facts.trees import BrokenTree, broken_trees
from trueup.reconcile.facts.uuids import canonical_uuid
from trueup.reconcile.reasons import Reason

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True)
class Facts:
    """Everything that one run read of a cloud. `consumers` has the amounts held, by consumer uuid.

    `instances` has every row that was read: one uuid may have rows in several cells. Rows of
    deleted compute nodes and services are kept apart from the others.
    """

    taken_at: datetime
    coverage: Coverage
    cells: Mapping[str, str]  # uuid → name
    providers: Mapping[str, Provider]
    consumers: Mapping[str, Amounts]
    instances: tuple[Instance, ...] = ()
    migrations: tuple[Migration, ...] = ()
    compute_nodes: tuple[ComputeNode, ...] = ()
    services: tuple[ComputeService, ...] = ()
    deleted_compute_nodes: tuple[ComputeNode, ...] = ()
    deleted_services: tuple[ComputeService, ...] = ()
    build_requests: tuple[BuildRequest, ...] = ()
    # The last report of any service of each cell, of any kind: cell uuid → time.
    heartbeats: Mapping[str, datetime] = field(default_factory=dict)
    # How far the clock of each cell's database is ahead of ours: cell uuid → time.
    clocks_ahead: Mapping[str, timedelta] = field(default_factory=dict)
    # When an allocation of each provider was last written, by Placement's clock: provider uuid →
    # time. Read from its database only.
    ledger_writes: Mapping[str, datetime] = field(default_factory=dict)
    # Owner and generation, known for the consumers that a plan is about.
    holdings: Mapping[str, Holding] = field(default_factory=dict)
    # By consumer uuid; empty if owners were not read, which the coverage says.
    owners: Mapping[str, Owner] = field(default_factory=dict)
    disabled_cells: frozenset[str] = frozenset()
    host_mappings: tuple[HostMapping, ...] = ()
    instance_mappings: tuple[InstanceMapping, ...] = ()
    # The instances that have a request spec.
    request_specs: frozenset[str] = frozenset()
    host_aggregates: tuple[HostAggregate, ...] = ()
    block_devices: tuple[BlockDevice, ...] = ()
    pci_devices: tuple[PciDevice, ...] = ()
    ports: tuple[Port, ...] = ()
    # For a selection: the instance that is not selected, and that holds the resources of a selected
    # one's port by Nova's network cache, by the port's uuid.
    port_holders: Mapping[str, str] = field(default_factory=dict)
    # The hosts of a selection; None if nothing was selected and the whole cloud was read.
    hosts_in_scope: frozenset[str] | None = None
    # For a selection: the uuids of the providers whose consumers were all read, and of the selected
    # compute nodes. Only these are judged; None: all are judged.
    providers_in_scope: frozenset[str] | None = None
    domains: tuple[Domain, ...] = ()
    # The hosts whose hypervisors were asked for their domains; None: all hosts, or none.
    hypervisors_asked: frozenset[str] | None = None
    # The definitions of the domains that a plan may remove; never part of a snapshot.
    domain_records: tuple[DomainRecord, ...] = ()
    # Over Placement's API: the traits that were read beside those that defects judge; never part of
    # a snapshot.
    traits_read: frozenset[str] = frozenset()
    # Read for proposals of moves only; None: not read; never part of a snapshot.
    server_groups: tuple[ServerGroup, ...] | None = None
    # Faults in Placement's own rows; read from its database only.
    ledger_faults: tuple[LedgerFault, ...] = ()
    # The contents of request specs, read only for selected instances, because those of a whole
    # cloud would be most of its facts. So no defect may depend on them.
    specs: Mapping[str, RequestSpec] = field(default_factory=dict)
    # The providers, by name or uuid, that an operator has chosen for a port, by the port's uuid.
    chosen_providers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def once(self, derive: Callable[["Facts"], Value]) -> Value:
        """The result of this function, which is called only once for these facts."""
        derived = self._derived
        if derive not in derived:
            derived[derive] = derive(self)
        found: Value = derived[derive]
        return found

    @cached_property
    def _derived(self) -> dict[Callable[["Facts"], object], Any]:
        return {}

    @cached_property
    def instance_rows(self) -> Mapping[str, tuple[Instance, ...]]:
        """All rows of each instance, from every cell, alive, deleted or archived, by uuid."""
        return grouped((row.uuid, row) for row in self.instances)

    def record(self, uuid: str) -> InstanceRecord:
        """Everything that the sources say about an instance."""
        migrations = self.migrations_of.get(uuid, ())
        return InstanceRecord(
            uuid=uuid,
            rows=self.instance_rows.get(uuid, ()),
            mapping=self.mappings.get(uuid),
            migrations=migrations,
            own=self.consumers.get(uuid, {}),
            moves={row.uuid: held for row in migrations if (held := self.consumers.get(row.uuid))},
            misspelled=self.misspelled.get(uuid, ()),
            domains=self.domains_of.get(uuid, ()),
        )

    @cached_property
    def alive(self) -> Mapping[str, Instance]:
        """Instances that are not deleted in some cell, by uuid: one such row of each.

        If there are several rows, the one in the cell that the instance's mapping names, else the
        last. Hidden instances, which are moving between cells, are included.
        """
        living = ([row for row in rows if not row.deleted] for rows in self.instance_rows.values())
        return {rows[-1].uuid: self._mapped(rows) for rows in living if rows}

    def _mapped(self, rows: list[Instance]) -> Instance:
        if len(rows) == 1:
            return rows[0]
        mapping = self.mappings.get(rows[0].uuid)
        mapped = [row for row in rows if mapping is not None and row.cell == mapping.cell]
        return (mapped or rows)[-1]

    @cached_property
    def deleted(self) -> Mapping[str, Instance]:
        """Instances that are deleted in every cell that has them, by uuid: their last row."""
        return {
            uuid: rows[-1] for uuid, rows in self.instance_rows.items() if uuid not in self.alive
        }

    @cached_property
    def builds(self) -> frozenset[str]:
        """The instances that have a build request."""
        return frozenset(row.instance for row in self.build_requests)

    @cached_property
    def mappings(self) -> Mapping[str, InstanceMapping]:
        """The mapping of each instance that has one, by instance uuid."""
        return {row.instance: row for row in self.instance_mappings}

    @cached_property
    def migrations_of(self) -> Mapping[str, tuple[Migration, ...]]:
        """The migrations of each instance, of any status. A migration in two cells is listed once.

        Migrations from before Pike may have no uuid: each of their rows counts as a migration.
        """
        once = {row.uuid or row: row for row in self.migrations}
        return grouped((row.instance, row) for row in once.values())

    @cached_property
    def domains_of(self) -> Mapping[str, tuple[Domain, ...]]:
        """The domains of each instance, by its uuid."""
        return grouped((row.uuid, row) for row in self.domains)

    @cached_property
    def record_of_domain(self) -> Mapping[tuple[str, str], DomainRecord]:
        """The definition of each domain that was read, by host and uuid."""
        return {(row.host, row.domain): row for row in self.domain_records}

    @cached_property
    def misspelled(self) -> Mapping[str, tuple[str, ...]]:
        """Consumers whose uuid is not in canonical form, by the form that Nova uses."""
        forms = {
            written: form
            for written in self.consumers
            if (form := canonical_uuid(written)) != written
        }
        return grouped((form, written) for written, form in sorted(forms.items()))

    @cached_property
    def moving(self) -> Mapping[str, Migration]:
        """The migration under way of each instance that has one, by instance uuid."""
        return {row.instance: row for row in self.migrations if row.under_way}

    @cached_property
    def nodes_by_place(self) -> Mapping[tuple[str, str, str], tuple[ComputeNode, ...]]:
        """Compute nodes by (cell, host, node)."""
        return grouped(((row.cell, row.host, row.node), row) for row in self.compute_nodes)

    @cached_property
    def nodes_by_uuid(self) -> Mapping[str, tuple[ComputeNode, ...]]:
        return grouped((row.uuid, row) for row in self.compute_nodes)

    @cached_property
    def provider_names(self) -> Mapping[str, str]:
        """The name of each provider, by uuid."""
        return {row.uuid: row.name for row in self.providers.values()}

    @cached_property
    def cells_behind(self) -> Mapping[str, Reason | None]:
        """The cells whose answer may be outdated: uuid → reason."""
        behind = {row.source: row.lag for row in self.coverage.behind}
        return {uuid: behind[name] for uuid, name in self.cells.items() if name in behind}

    @cached_property
    def providers_by_name(self) -> Mapping[str, tuple[Provider, ...]]:
        return grouped((row.name, row) for row in self.providers.values())

    @cached_property
    def trees(self) -> Mapping[str, tuple[Provider, ...]]:
        """All providers of each tree, by the root's uuid."""
        return grouped((row.root, row) for row in self.providers.values())

    @cached_property
    def broken(self) -> tuple[BrokenTree, ...]:
        """The providers whose parents do not lead to their root, and hosts that are not roots."""
        return tuple(broken_trees(self.providers, self.nodes_by_uuid))

    @cached_property
    def broken_roots(self) -> Mapping[str, BrokenTree]:
        """A broken provider of each affected tree, by the root's uuid.

        SAFETY: the host of such a tree is not certain, so nothing in the tree is judged.
        """
        return {root: tree for tree in self.broken for root in tree.roots}

    @cached_property
    def sharing(self) -> tuple[Provider, ...]:
        """The providers that share their inventory through an aggregate."""
        return tuple(row for row in self.providers.values() if row.sharing)

    @cached_property
    def sharing_with(self) -> Mapping[str, tuple[Provider, ...]]:
        """The providers of other trees that share with the tree of each root."""
        pairs = ((root, row) for row in self.sharing for root in row.shares_with)
        return grouped((root, row) for root, row in pairs if row.root != root)

    @property
    def read_until(self) -> datetime:
        """When the last source answered."""
        moments = (row.answered_at for row in self.coverage.sources)
        return max((self.taken_at, *(moment for moment in moments if moment)))

    @cached_property
    def ports_read(self) -> bool:
        """Whether Neutron was asked, and answered."""
        return any(row.source == NEUTRON and row.answered for row in self.coverage.sources)

    def hypervisor_answered(self, host: str) -> bool:
        """Whether the hypervisor of this host was asked for its domains, and answered."""
        return host in self.hypervisors_that_answered

    @cached_property
    def domains_read(self) -> bool:
        """Whether any hypervisor was to be asked for its domains."""
        return any(row.source == LIBVIRT and row.answered for row in self.coverage.sources)

    @cached_property
    def hypervisors_that_answered(self) -> frozenset[str]:
        """The hosts whose hypervisor was asked for its domains, and answered."""
        if not self.domains_read:
            return frozenset()
        asked = [row for row in self.coverage.sources if row.source == LIBVIRT]
        silent = {kind.what for row in asked for kind in row.unsupported}
        hosts = self.hypervisors_asked
        if hosts is None:
            hosts = frozenset(row.host for row in self.compute_nodes if row.is_of_libvirt)
        return frozenset(host for host in hosts if DOMAINS_OF.format(host) not in silent)

    @cached_property
    def service_down_time(self) -> timedelta:
        """The time without a report after which Nova considers a service down."""
        return max((row.down_after for row in self.services), default=SERVICE_DOWN_AFTER)

    @cached_property
    def _services_by_host(self) -> Mapping[tuple[str, str], ComputeService]:
        """Compute services by (cell, host); as Nova on MySQL does, without case."""
        return {(row.cell, row.host.casefold()): row for row in self.services}

    def service_of(self, cell: str, host: str) -> ComputeService | None:
        """The compute service of a host."""
        return self._services_by_host.get((cell, host.casefold()))

    @cached_property
    def ports_by_device(self) -> Mapping[str, tuple[Port, ...]]:
        """Ports by the instance they belong to."""
        return grouped((row.device, row) for row in self.ports)

    @cached_property
    def pci_by_node(self) -> Mapping[tuple[str, int], tuple[PciDevice, ...]]:
        """PCI devices by cell and number of their compute node."""
        return grouped(((row.cell, row.compute_node), row) for row in self.pci_devices)

    def judges(self, uuid: str) -> bool:
        """Whether the provider, or compute node, with this uuid is to be judged."""
        return self.providers_in_scope is None or uuid in self.providers_in_scope

    def has(self, what: str) -> bool:
        """Whether every source gives this kind of fact, as `host mappings`."""
        sources = self.coverage.sources
        return all(kind.what != what for source in sources for kind in source.unsupported)

    @cached_property
    def host_mapping(self) -> Mapping[str, HostMapping]:
        """The mapping of each host that has one, by the host's name."""
        return {row.host: row for row in self.host_mappings}

    @cached_property
    def nodes_by_host(self) -> Mapping[tuple[str, str], tuple[ComputeNode, ...]]:
        """Compute nodes by (cell, host)."""
        return grouped(((row.cell, row.host), row) for row in self.compute_nodes)

    @cached_property
    def nodes_by_name(self) -> Mapping[str, tuple[ComputeNode, ...]]:
        """Compute nodes by their name (`hypervisor_hostname`), from every cell."""
        return grouped((row.node, row) for row in self.compute_nodes)

    @cached_property
    def deleted_nodes_by_uuid(self) -> Mapping[str, tuple[ComputeNode, ...]]:
        """Compute nodes that are deleted, by uuid."""
        return grouped((row.uuid, row) for row in self.deleted_compute_nodes)

    @cached_property
    def aggregates_of_hosts(self) -> Mapping[str, frozenset[str]]:
        """The uuids of the host aggregates of each host that is in any."""
        pairs = (
            (host, aggregate.uuid) for aggregate in self.host_aggregates for host in aggregate.hosts
        )
        return {host: frozenset(uuids) for host, uuids in grouped(pairs).items()}

    def nova_aggregates_of(self, host: str) -> tuple[HostAggregate, ...]:
        """All host aggregates of a host, by name."""
        found = (aggregate for aggregate in self.host_aggregates if host in aggregate.hosts)
        return tuple(sorted(found, key=lambda aggregate: aggregate.name))

    @cached_property
    def sharing_aggregates(self) -> frozenset[str]:
        """The aggregates of sharing providers."""
        return frozenset(uuid for row in self.sharing for uuid in row.aggregates or ())

    @cached_property
    def consumers_of(self) -> Mapping[str, tuple[str, ...]]:
        """The consumers with allocations on each provider."""
        return grouped(
            (uuid, consumer) for consumer, held in self.consumers.items() for uuid in held
        )

    @cached_property
    def used(self) -> Mapping[str, Mapping[str, int]]:
        """How much of each provider all consumers hold: provider uuid → resource class → amount."""
        total: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for amounts in self.consumers.values():
            for uuid, held in amounts.items():
                of_provider = total[uuid]
                for name, amount in held.items():
                    of_provider[name] += amount
        return total

    def roots_of(self, amounts: Amounts) -> frozenset[str]:
        """The roots of the trees in which these amounts are held, sharing providers left out."""
        held = (self.providers[uuid] for uuid in amounts if uuid in self.providers)
        return frozenset(provider.root for provider in held if not provider.sharing)


def outside_trees(amounts: Amounts, roots: Container[str], facts: Facts) -> Amounts:
    """These amounts without those in the trees of these roots; sharing providers are kept."""

    def is_within(uuid: str) -> bool:
        provider = facts.providers.get(uuid)
        return provider is not None and provider.root in roots and not provider.sharing

    return {uuid: held for uuid, held in amounts.items() if not is_within(uuid)}


def without_ports(facts: Facts) -> Facts:
    """The same facts, in which no port of an instance is said to hold resources."""
    instances = tuple(
        replace(row, ports_hold=False, ports_holding=()) if row.ports_hold else row
        for row in facts.instances
    )
    return replace(facts, instances=instances)


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, tuple[Value, ...]]:
    """Values by key, in the order given."""
    groups: dict[Key, list[Value]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return {key: tuple(values) for key, values in groups.items()}
