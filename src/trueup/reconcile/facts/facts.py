# SPDX-License-Identifier: Apache-2.0
"""The picture: everything that was read of a cloud at one moment, with lookups over it."""

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
    """One picture of a cloud. `consumers` are the amounts held, by consumer uuid.

    `compute_nodes` and `services` are those that are not deleted; the deleted ones stand apart.
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
    # The hosts that were selected; None: nothing was, and all that there is was read.
    hosts_in_scope: frozenset[str] | None = None
    domains: tuple[Domain, ...] = ()
    # What is in the request specs, known where instances were selected: read of all, they would be
    # most of what is read of a cloud. So no defect may be told by them, only explained.
    specs: Mapping[str, RequestSpec] = field(default_factory=dict)

    @cached_property
    def alive(self) -> Mapping[str, Instance]:
        """Instances that are not deleted, by uuid; also hidden ones, whose sibling moves."""
        return {row.uuid: row for row in self.instances if not row.deleted}

    @cached_property
    def deleted(self) -> Mapping[str, Instance]:
        """Instances that a cell says are deleted and no cell says are alive, by uuid."""
        rows = {row.uuid: row for row in self.instances if row.deleted}
        return {uuid: row for uuid, row in rows.items() if uuid not in self.alive}

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
