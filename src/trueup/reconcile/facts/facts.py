# SPDX-License-Identifier: Apache-2.0
"""Everything that was read of a cloud in one run, with lookups over it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TypeVar

from trueup.reconcile.facts.coverage import NEUTRON, Coverage
from trueup.reconcile.facts.domains import Domain
from trueup.reconcile.facts.hosts import (
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
from trueup.reconcile.facts.migrations import Migration
from trueup.reconcile.facts.ports import Port
from trueup.reconcile.facts.providers import Amounts, Holding, Provider

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True)
class Facts:
    """What was read of a cloud in one run. `consumers` has the amounts held, by consumer uuid.

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
    # Owner and generation, known for the consumers that a plan is about.
    holdings: Mapping[str, Holding] = field(default_factory=dict)
    disabled_cells: frozenset[str] = frozenset()
    host_mappings: tuple[HostMapping, ...] = ()
    instance_mappings: tuple[InstanceMapping, ...] = ()
    # The instances that have a request spec.
    request_specs: frozenset[str] = frozenset()
    host_aggregates: tuple[HostAggregate, ...] = ()
    block_devices: tuple[BlockDevice, ...] = ()
    pci_devices: tuple[PciDevice, ...] = ()
    ports: tuple[Port, ...] = ()
    # The hosts of a selection; None if nothing was selected and the whole cloud was read.
    hosts_in_scope: frozenset[str] | None = None
    domains: tuple[Domain, ...] = ()
    # The contents of request specs, read only for selected instances: those of a whole cloud would
    # be most of what is read. So no defect may depend on them.
    specs: Mapping[str, RequestSpec] = field(default_factory=dict)

    @cached_property
    def instance_rows(self) -> Mapping[str, tuple[Instance, ...]]:
        """All rows of each instance, from every cell, alive, deleted or archived, by uuid."""
        return grouped((row.uuid, row) for row in self.instances)

    @cached_property
    def alive(self) -> Mapping[str, Instance]:
        """Instances that some cell has as not deleted, by uuid: the last such row of each.

        Hidden instances, of which another row is moving between cells, are among them.
        """
        living = ([row for row in rows if not row.deleted] for rows in self.instance_rows.values())
        return {rows[-1].uuid: rows[-1] for rows in living if rows}

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
    def moving(self) -> Mapping[str, Migration]:
        """The migration under way of each instance that has one, by instance uuid."""
        return {row.instance: row for row in self.migrations if row.under_way}

    @cached_property
    def evacuations(self) -> Mapping[str, tuple[Migration, ...]]:
        """Evacuations that are over and were not undone, by instance uuid."""
        return grouped(
            (row.instance, row)
            for row in self.migrations
            if row.kind == "evacuation" and row.status in ("done", "completed")
        )

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
    def providers_by_name(self) -> Mapping[str, tuple[Provider, ...]]:
        return grouped((row.name, row) for row in self.providers.values())

    @cached_property
    def trees(self) -> Mapping[str, tuple[Provider, ...]]:
        """All providers of each tree, by the root's uuid."""
        return grouped((row.root, row) for row in self.providers.values())

    @cached_property
    def sharing(self) -> tuple[Provider, ...]:
        """The providers that share what they have by an aggregate."""
        return tuple(row for row in self.providers.values() if row.sharing)

    @property
    def ports_read(self) -> bool:
        """Whether Neutron was asked, and answered."""
        return any(row.source == NEUTRON and row.answered for row in self.coverage.sources)

    @cached_property
    def services_by_host(self) -> Mapping[tuple[str, str], ComputeService]:
        return {(row.cell, row.host): row for row in self.services}

    @cached_property
    def ports_by_device(self) -> Mapping[str, tuple[Port, ...]]:
        """Ports by the instance they belong to."""
        return grouped((row.device, row) for row in self.ports)

    @cached_property
    def pci_by_instance(self) -> Mapping[str, tuple[PciDevice, ...]]:
        """PCI devices by the instance that has or claims them."""
        return grouped((row.instance, row) for row in self.pci_devices if row.instance)

    def roots_of(self, amounts: Amounts) -> frozenset[str]:
        """The roots of the trees in which these amounts are held, sharing providers left out."""
        held = (self.providers[uuid] for uuid in amounts if uuid in self.providers)
        return frozenset(provider.root for provider in held if not provider.sharing)


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, tuple[Value, ...]]:
    """Values by key, in the order given."""
    groups: dict[Key, list[Value]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return {key: tuple(values) for key, values in groups.items()}
