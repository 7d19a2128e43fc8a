# SPDX-License-Identifier: Apache-2.0
"""A Nova in memory, filled from facts: a rehearsal reads it and writes to it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from trueup.reconcile.facts import (
    ComputeNode,
    Facts,
    Flavor,
    HostAggregate,
    Instance,
    InstanceState,
    Migration,
    ServerGroup,
    instance_state,
)
from trueup.reconcile.sources.nova.contract import (
    CellContents,
    CountInstances,
    InstanceFilter,
    InstanceIds,
    NovaCell,
    Registry,
)


@dataclass(frozen=True)
class Accepted:
    """The response to a write."""

    status_code: int
    headers: Mapping[str, str] = field(default_factory=dict)
    url: str = "facts"


class FrozenNova:
    """A `contract.Nova` that reads facts, and whose compute services can be written.

    `facts` are its present contents.
    """

    read_via = "facts"
    registry_source = "facts"

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def cells(self) -> tuple[NovaCell, ...]:
        return tuple(NovaCell(uuid, name, url="") for uuid, name in self.facts.cells.items())

    def registry(self, cells: Iterable[NovaCell], uuids: Iterable[str] | None = None) -> Registry:
        facts = self.facts
        return Registry(
            build_requests=facts.build_requests,
            host_mappings=facts.host_mappings,
            instance_mappings=facts.instance_mappings,
            request_specs=facts.request_specs,
            specs=tuple(facts.specs.values()),
            host_aggregates=facts.host_aggregates,
        )

    def contents(self, cell: NovaCell, counted: CountInstances = lambda _: None) -> CellContents:
        rows = [row for row in self._rows(cell.uuid) if not row.deleted]
        counted(len(rows))
        hosts = self.hosts(cell)
        return replace(
            self._contents(cell, rows, {row.uuid for row in rows}),
            compute_nodes=hosts.compute_nodes,
            services=hosts.services,
            heartbeat=hosts.heartbeat,
            ahead=hosts.ahead,
        )

    def hosts(self, cell: NovaCell) -> CellContents:
        facts = self.facts
        return CellContents(
            compute_nodes=tuple(row for row in facts.compute_nodes if row.cell == cell.uuid),
            services=tuple(row for row in facts.services if row.cell == cell.uuid),
            heartbeat=facts.heartbeats.get(cell.uuid),
            ahead=facts.clocks_ahead.get(cell.uuid),
        )

    def service_reports(self, cell: NovaCell, host: str) -> CellContents:
        found = self.hosts(cell)
        services = tuple(row for row in found.services if row.host == host)
        return CellContents(services=services, heartbeat=found.heartbeat, ahead=found.ahead)

    def compute_nodes(self, cell: NovaCell, uuid: str, name: str = "") -> tuple[ComputeNode, ...]:
        return tuple(
            row
            for row in self.hosts(cell).compute_nodes
            if row.uuid == uuid or (name and row.node == name)
        )

    def instance_ids(self, cell: NovaCell, wanted: InstanceFilter) -> InstanceIds:
        rows = [
            row
            for row in self._rows(cell.uuid)
            if wanted.projects is None or row.project in wanted.projects
        ]
        living = (
            row.uuid
            for row in rows
            if not row.deleted and (wanted.hosts is None or row.host in wanted.hosts)
        )
        deleted = (row.uuid for row in rows if row.deleted and wanted.deleted)
        return InstanceIds(frozenset(living), frozenset(deleted))

    def instances(self, cell: NovaCell, uuids: Iterable[str]) -> CellContents:
        wanted = set(uuids)
        rows = [row for row in self._rows(cell.uuid) if row.uuid in wanted and not row.deleted]
        return self._contents(cell, rows, wanted)

    def lookup(
        self, cell: NovaCell, uuids: Iterable[str], moves_of: Iterable[str] = ()
    ) -> CellContents:
        wanted = set(uuids)
        rows = [row for row in self._rows(cell.uuid) if row.uuid in wanted]
        return self._contents(cell, rows, wanted | set(moves_of))

    def port_holders(self, cell: NovaCell, ports: Iterable[str]) -> frozenset[str]:
        wanted = frozenset(ports)
        rows = self._rows(cell.uuid)
        return frozenset(row.uuid for row in rows if not wanted.isdisjoint(row.ports_holding))

    def moves_at(self, cell: NovaCell, host: str) -> tuple[Migration, ...]:
        return tuple(
            row
            for row in self.facts.migrations
            if row.cell == cell.uuid
            and not row.deleted
            and host in (row.source_host, row.target_host)
        )

    def instance_states(self, cell: str, uuids: Iterable[str]) -> dict[str, InstanceState]:
        """The states of instances as the facts have them."""
        wanted = set(uuids)
        moving = {row.instance for row in self.facts.migrations if row.under_way}
        # If there is also a row that is not archived, the archived one is an earlier instance's.
        rows = sorted(self._rows(cell), key=lambda row: row.archived, reverse=True)
        return {
            row.uuid: instance_state(row, moving=row.uuid in moving)
            for row in rows
            if row.uuid in wanted
        }

    def cached_ports(self, cell: NovaCell, uuids: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Those that the facts name: of what was not listed they know no more."""
        wanted = set(uuids)
        return {row.uuid: row.ports_holding for row in self._rows(cell.uuid) if row.uuid in wanted}

    def row(self, host: str) -> Mapping[str, Any] | None:
        """As Nova's API: the settings of the compute service of a host."""
        for row in self.facts.services:
            if row.host == host:
                return {
                    "status": "disabled" if row.disabled else "enabled",
                    "disabled_reason": row.disabled_reason,
                    "forced_down": row.forced_down,
                }
        return None

    def set(self, host: str, fields: Mapping[str, Any]) -> Accepted:
        """As Nova's API: set fields of the compute service of a host."""
        disabled = fields["status"] == "disabled"
        settings = {
            "disabled": disabled,
            "disabled_reason": fields.get("disabled_reason", "") if disabled else "",
            "forced_down": fields["forced_down"],
        }
        services = self.facts.services
        after = (replace(row, **settings) if row.host == host else row for row in services)
        self.facts = replace(self.facts, services=tuple(after))
        return Accepted(200)

    def delete(self, host: str) -> Accepted:
        """As Nova's API: delete the compute service of a host, its compute nodes and mapping."""
        facts = self.facts
        gone = (replace(row, deleted=True) for row in facts.compute_nodes if row.host == host)
        self.facts = replace(
            facts,
            services=tuple(row for row in facts.services if row.host != host),
            compute_nodes=tuple(row for row in facts.compute_nodes if row.host != host),
            deleted_compute_nodes=(*facts.deleted_compute_nodes, *gone),
            host_mappings=tuple(row for row in facts.host_mappings if row.host != host),
            host_aggregates=_without_host(facts.host_aggregates, host),
        )
        return Accepted(204)

    def flavors(self) -> tuple[Flavor, ...]:
        """The flavors of living instances: facts have no others."""
        used = {row.flavor.name: row.flavor for row in self.facts.alive.values() if row.flavor}
        return tuple(used[name] for name in sorted(used))

    def server_groups(self) -> tuple[ServerGroup, ...]:
        """Those that were read; a snapshot has none."""
        return self.facts.server_groups or ()

    def close(self) -> None:
        pass

    def _rows(self, cell: str) -> list[Instance]:
        return [row for row in self.facts.instances if row.cell == cell]

    def _contents(
        self, cell: NovaCell, rows: Iterable[Instance], moved: Collection[str]
    ) -> CellContents:
        facts = self.facts
        return CellContents(
            instances=tuple(rows),
            migrations=tuple(
                row
                for row in facts.migrations
                if row.cell == cell.uuid and (row.instance in moved or row.uuid in moved)
            ),
            block_devices=tuple(row for row in facts.block_devices if row.instance in moved),
            pci_devices=tuple(
                row for row in facts.pci_devices if row.cell == cell.uuid and row.instance in moved
            ),
        )


def _without_host(rows: Iterable[HostAggregate], host: str) -> tuple[HostAggregate, ...]:
    """The same aggregates without this host."""
    return tuple(
        replace(row, hosts=tuple(name for name in row.hosts if name != host)) for row in rows
    )
