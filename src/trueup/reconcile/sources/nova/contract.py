# SPDX-License-Identifier: Apache-2.0
"""The methods of every reader of Nova, and the values that they return. No SQL, no HTTP."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from trueup.reconcile.facts import (
    BlockDevice,
    BuildRequest,
    ComputeNode,
    ComputeService,
    Flavor,
    HostAggregate,
    HostMapping,
    Instance,
    InstanceMapping,
    InstanceState,
    Migration,
    PciDevice,
    RequestSpec,
    ServerGroup,
    as_compared,
)
from trueup.reconcile.sources.notes import NOTHING_NOTED, Noted

# The uuids of the two cells of a Nova that is read over its API, which does not name its cells.
API_CELL, DOWN_CELL = "nova-api", "cells-that-are-down"

# Called with the number of instances that have been read so far.
CountInstances = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class NovaCell:
    """A cell as `cell_mappings` describes it; `number` is the id that other tables refer to."""

    uuid: str
    name: str
    url: str
    number: int = 0
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class InstanceFilter:
    """Which instances of a cell to look for; None for a field means that it does not filter.

    With `deleted`, deleted and archived instances of the projects are returned as well; `hosts`
    does not apply to them. With `hosts`, instances that name no host but one of `nodes` are
    returned as well; Nova's API has no such filter.
    """

    hosts: frozenset[str] | None = None
    projects: frozenset[str] | None = None
    deleted: bool = False
    nodes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class InstanceIds:
    """The uuids of the instances that match a filter."""

    living: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CellContents:
    """The facts that were read of one cell: instances with devices and migrations, and hosts.

    `heartbeat` is the last report of any of its services, of any kind; None if there is no report,
    or if the source cannot be a replica, as Nova's API. `ahead` is how far the clock of the cell's
    database is ahead of ours; None if unknown.
    """

    instances: tuple[Instance, ...] = ()
    migrations: tuple[Migration, ...] = ()
    compute_nodes: tuple[ComputeNode, ...] = ()
    services: tuple[ComputeService, ...] = ()
    block_devices: tuple[BlockDevice, ...] = ()
    pci_devices: tuple[PciDevice, ...] = ()
    heartbeat: datetime | None = None
    ahead: timedelta | None = None
    noted: Noted = NOTHING_NOTED

    @property
    def rows(self) -> int:
        parts: Sequence[Sequence[object]] = (
            self.instances,
            self.migrations,
            self.compute_nodes,
            self.services,
            self.block_devices,
            self.pci_devices,
        )
        return sum(len(part) for part in parts) + self.noted.lost_rows


@dataclass(frozen=True, slots=True)
class Registry:
    """Nova's facts outside its cells, in its API database.

    `request_specs` are the instances that have a request spec. `specs` are the contents, which are
    read only for requested instances. `folds_case`: the source compares host names without case.
    """

    build_requests: tuple[BuildRequest, ...] = ()
    host_mappings: tuple[HostMapping, ...] = ()
    instance_mappings: tuple[InstanceMapping, ...] = ()
    request_specs: frozenset[str] = frozenset()
    specs: tuple[RequestSpec, ...] = ()
    host_aggregates: tuple[HostAggregate, ...] = ()
    folds_case: bool = False
    noted: Noted = NOTHING_NOTED

    def aggregates_of(self, host: str) -> frozenset[str]:
        """The host aggregates, by uuid, in which the source finds a host."""

        def compared(name: str) -> str:
            return as_compared(name) if self.folds_case else name

        return frozenset(
            aggregate.uuid
            for aggregate in self.host_aggregates
            if compared(host) in map(compared, aggregate.hosts)
        )

    @property
    def rows(self) -> int:
        parts = (self.build_requests, self.host_mappings, self.instance_mappings)
        aggregates = len(self.host_aggregates)
        counted = sum(len(part) for part in parts) + aggregates
        return counted + len(self.request_specs) + self.noted.lost_rows


class ServiceSettings(Protocol):
    """Nova's compute services, as a step changes them. Every method raises Unreachable."""

    def row(self, host: str) -> Mapping[str, Any] | None:
        """Nova's document of the compute service of a host; None: it has none."""

    def set(self, host: str, fields: Mapping[str, Any]) -> Any:
        """The response to setting fields of the service of a host."""

    def delete(self, host: str) -> Any:
        """The response to deleting the service of a host, with its compute nodes."""


class Nova(Protocol):
    """A reader of Nova. Every method but `close` raises Unreachable or AccessDenied.

    `read_via` is `database` or `API`; `registry_source` is the name that coverage gives to the
    source of the registry.
    """

    read_via: str
    registry_source: str

    def cells(self) -> tuple[NovaCell, ...]:
        """Every cell, also cell0 and disabled ones."""

    def registry(self, cells: Iterable[NovaCell], uuids: Iterable[str] | None = ...) -> Registry:
        """The registry; with `uuids`, rows of instances are read for these only."""

    def contents(self, cell: NovaCell, counted: CountInstances = ...) -> CellContents:
        """Everything in a cell that is not deleted."""

    def hosts(self, cell: NovaCell) -> CellContents:
        """A cell's compute nodes and services."""

    def service_reports(self, cell: NovaCell, host: str) -> CellContents:
        """The compute services of one host, and the last report of any service of the cell."""

    def compute_nodes(self, cell: NovaCell, uuid: str, name: str = ...) -> tuple[ComputeNode, ...]:
        """The compute nodes with this uuid, or with this name if one is given. With databases also
        deleted ones.
        """

    def instance_ids(self, cell: NovaCell, wanted: InstanceFilter) -> InstanceIds:
        """The instances of a cell that match the filter."""

    def instances(self, cell: NovaCell, uuids: Iterable[str]) -> CellContents:
        """These instances with their devices, and migrations of them or with these uuids."""

    def lookup(
        self, cell: NovaCell, uuids: Iterable[str], moves_of: Iterable[str] = ...
    ) -> CellContents:
        """All rows with these uuids, alive, deleted or archived: of instances, and of migrations
        where the source has them. Also the migrations of `moves_of`.
        """

    def moves_at(self, cell: NovaCell, host: str) -> tuple[Migration, ...]:
        """The migrations from or to a host that are not deleted."""

    def instance_states(self, cell: str, uuids: Iterable[str]) -> Mapping[str, InstanceState]:
        """The states of these instances now; instances that the cell does not know are left out.

        With databases, the state of an instance that is also in another cell names that cell.
        """

    def cached_ports(self, cell: NovaCell, uuids: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
        """The ports in the network caches of these instances: their ids, or over the API the MAC
        addresses of those that have an IP address.
        """

    def port_holders(self, cell: NovaCell, ports: Iterable[str]) -> frozenset[str]:
        """The living instances for which one of these ports holds resources, by their network
        caches. Over the API they are not known.
        """

    def flavors(self) -> tuple[Flavor, ...]:
        """The flavors that servers can be made with, by name."""

    def server_groups(self) -> tuple[ServerGroup, ...]:
        """Every server group. A table that cannot be read silences nothing else."""

    def close(self) -> None: ...
