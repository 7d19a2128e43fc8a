# SPDX-License-Identifier: Apache-2.0
"""Reads the database of one cell, in one transaction."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Select, TableClause

from trueup.reconcile.clock import now
from trueup.reconcile.facts import (
    SERVICE_DOWN_AFTER,
    BlockDevice,
    ComputeNode,
    ComputeService,
    Hardware,
    Instance,
    Migration,
    PciDevice,
    canonical_uuid,
    grouped,
)
from trueup.reconcile.sources.columns import Columns
from trueup.reconcile.sources.database import Row, Session
from trueup.reconcile.sources.notes import Noted, Notes
from trueup.reconcile.sources.nova import host_rows, instance_rows, queries, tables
from trueup.reconcile.sources.nova.contract import (
    CellContents,
    CountInstances,
    InstanceFilter,
    InstanceIds,
)
from trueup.reconcile.sources.nova.host_names import HostNames, services_as_nodes
from trueup.reconcile.sources.nova.instance_rows import Beside, InstanceRows
from trueup.reconcile.sources.reading import Read, Reader

# PERF: each query reads all network caches of a cell, and compares each with every port.
_PORTS_IN_QUERY = 50


class CellReading:
    """The queries of one transaction, with the notes made while reading."""

    def __init__(
        self,
        session: Session,
        source: str,
        cell: str,
        down_after: timedelta = SERVICE_DOWN_AFTER,
    ) -> None:
        """`down_after` is Nova's `service_down_time`."""
        self._session = session
        self._cell = cell
        self._down_after = down_after
        self._notes = Notes()
        self._columns = Columns(session, source, tables.LATER)

    def contents(self, counted: CountInstances) -> CellContents:
        """All hosts, all instances that are not deleted with their devices, and all migrations."""
        devices = self._devices(None)
        instances = self._instances(self._beside(devices, None), counted)
        found = replace(
            self.hosts(),
            instances=instances,
            migrations=self._migrations(),
            block_devices=devices,
            pci_devices=self._pci(None),
            noted=self._noted(),
        )
        return self._spelled(found)

    def hosts(self) -> CellContents:
        """Its compute nodes and services, also deleted ones."""
        services = list(self._rows(queries.every(self._columns, tables.services), tables.services))
        rows = self._rows(queries.every(self._columns, tables.compute_nodes), tables.compute_nodes)
        nodes = self._read(host_rows.compute_node, tables.compute_nodes, rows)
        computes = [row for row in services if row.binary == host_rows.COMPUTE]
        found = self._read(self._compute_service, tables.services, computes)
        if {row.host for row in found} - {row.host for row in nodes} and self._session.folds_case(
            tables.services.c.host
        ):
            found = services_as_nodes(found, nodes)
        return CellContents(
            compute_nodes=nodes,
            services=found,
            heartbeat=self._heartbeat(services),
            ahead=self._ahead(),
            noted=self._noted(),
        )

    def services(self) -> tuple[ComputeService, ...]:
        """Its compute services, also deleted ones."""
        rows = self._rows(queries.every(self._columns, tables.services), tables.services)
        computes = (row for row in rows if row.binary == host_rows.COMPUTE)
        return self._read(self._compute_service, tables.services, computes)

    def has_rows(self, *asked: TableClause) -> bool:
        """Whether any of these tables has a row, deleted or not."""
        for table in asked:
            self._columns.need(table)
        return any(self._session.rows(queries.one_row(table)) for table in asked)

    def hardware(self) -> dict[str, Hardware]:
        """The hardware of each compute node that is not deleted, by uuid."""
        rows = self._rows(queries.every(self._columns, tables.hardware), tables.hardware)
        return {str(row.uuid).lower(): host_rows.hardware(row) for row in rows if not row.deleted}

    def service_reports(self, host: str) -> CellContents:
        """The compute services of one host, and when any service of the cell last reported."""
        services = tables.services
        mine = list(self._rows(queries.of_host(self._columns, services, host), services))
        latest = list(self._rows(queries.latest_reports(self._columns), services))
        computes = [row for row in mine if row.binary == host_rows.COMPUTE]
        return CellContents(
            services=self._read(self._compute_service, services, computes),
            heartbeat=self._heartbeat(latest),
            ahead=self._ahead(),
            noted=self._noted(),
        )

    def compute_nodes(self, uuid: str, name: str) -> tuple[ComputeNode, ...]:
        """The compute nodes with this uuid or, if given, with this name; also deleted ones."""
        table = tables.compute_nodes
        rows = self._rows(queries.nodes_with(self._columns, uuid, name), table)
        return self._read(host_rows.compute_node, table, rows)

    def _compute_service(self, reader: Reader, row: Row, cell: str) -> ComputeService:
        return host_rows.compute_service(reader, row, cell, self._down_after)

    def _heartbeat(self, services: Iterable[Row]) -> datetime | None:
        """The last report of any service. Unreadable times are noted by other readers."""
        reader = Reader(tables.services.name, Notes())
        times = (host_rows.last_seen(reader, row) for row in services if not row.deleted)
        return max((moment for moment in times if moment), default=None)

    def _ahead(self) -> timedelta | None:
        """How far the clock of the database is ahead of ours, in whole seconds.

        The time that the query takes does not count.
        """
        before = now()
        clock = self._session.clock()
        if clock is None:
            return None
        ahead = clock - min(max(clock, before), now())
        return timedelta(seconds=round(ahead.total_seconds()))

    def instance_ids(self, wanted: InstanceFilter) -> InstanceIds:
        """The instances that match; deleted ones only if the filter asks for them."""
        living = queries.living_uuids(wanted)
        deleted: frozenset[str] = frozenset()
        for table in (tables.instances, tables.shadow_instances) if wanted.deleted else ():
            self._columns.need(table)
            deleted |= self._uuids(queries.deleted_uuids(wanted, table), table)
        return InstanceIds(self._uuids(living, tables.instances), deleted)

    def instances(self, uuids: Sequence[str]) -> CellContents:
        """These instances with their devices, and migrations of them or with these uuids."""
        rows = self._alive(uuids)
        known = {row.uuid for row in rows}
        asked = sorted({*uuids, *known})
        devices = self._devices(asked)
        beside = self._beside(devices, sorted(known))
        living = tuple(InstanceRows(self._cell, self._notes, beside).every(rows))
        others = {*uuids} - known
        found = CellContents(
            instances=(*living, *self._named(sorted(others))),
            migrations=self._moves(asked, asked),
            block_devices=devices,
            pci_devices=self._pci(asked),
            noted=self._noted(),
        )
        return self._spelled(found)

    def lookup(self, uuids: Sequence[str], moves_of: Sequence[str]) -> CellContents:
        """The instances and migrations with these uuids, alive, deleted or archived; and the
        migrations of `moves_of`.
        """
        found = CellContents(
            instances=self._named(uuids),
            migrations=self._moves((*uuids, *moves_of), moves_of),
            noted=self._noted(),
        )
        return self._spelled(found)

    def cached_ports(self, uuids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The ports in the network caches of these instances."""
        table = tables.info_caches
        rows = self._rows(queries.every(self._columns, table), table, uuids)
        ports = {row.instance_uuid: instance_rows.ports_in(row.network_info) for row in rows}
        return {canonical_uuid(uuid): known for uuid, known in ports.items() if known}

    def port_holders(self, ports: Sequence[str]) -> frozenset[str]:
        """The living instances whose network caches have one of these ports with an allocation."""
        found: set[str] = set()
        for start in range(0, len(ports), _PORTS_IN_QUERY):
            wanted = ports[start : start + _PORTS_IN_QUERY]
            rows = self._session.rows(queries.caching(self._columns, wanted))
            found |= {
                canonical_uuid(row.instance_uuid)
                for row in rows
                if not {*wanted}.isdisjoint(
                    instance_rows.ports_in(row.network_info, holding=True) or ()
                )
            }
        return frozenset(found)

    def moves_at(self, host: str) -> tuple[Migration, ...]:
        """The migrations from or to a host that are not deleted."""
        table = tables.migrations
        rows = self._rows(queries.migrations_at(self._columns, host), table)
        found = self._read(instance_rows.migration, table, rows)
        return self._spelled(CellContents(migrations=found)).migrations

    def _spelled(self, found: CellContents) -> CellContents:
        """The same instances and migrations, their hosts spelled as compute nodes spell them.

        The server itself finds the compute nodes, and so says which names it treats as equal.
        """
        moves = found.migrations
        places = {(row.host, row.node) for row in found.instances}
        places |= {(row.source_host, row.source_node) for row in moves}
        places |= {(row.target_host, row.target_node) for row in moves}
        nodes = tables.compute_nodes
        hosts = sorted({host for host, _ in places if host})
        rows = self._session.rows_of(queries.living_places(self._columns), nodes.c.host, hosts)
        known = [(row.host, row.hypervisor_hostname or "") for row in rows]
        if places <= {*known, (None, None)} or not self._session.folds_case(nodes.c.host):
            return found
        names = HostNames(known)
        return replace(
            found,
            instances=tuple(names.of_instances(found.instances)),
            migrations=tuple(names.of_migrations(moves)),
        )

    def _alive(self, uuids: Sequence[str]) -> list[Row]:
        """The rows of these instances that are not deleted."""
        query, key = queries.alive(self._columns), tables.instances.c.uuid
        return list(self._session.rows_of(query, key, uuids))

    def _named(self, uuids: Sequence[str]) -> tuple[Instance, ...]:
        """The rows of these instances, alive, deleted or archived."""
        rows = InstanceRows(self._cell, self._notes)
        found: list[Instance] = []
        for table in (tables.instances, tables.shadow_instances) if uuids else ():
            query = queries.named(self._columns, table)
            selected = self._session.rows_of(query, table.c.uuid, uuids)
            found += rows.every(selected, archived=table is tables.shadow_instances)
        return tuple(found)

    def _migrations(self) -> tuple[Migration, ...]:
        """Every migration that is not deleted."""
        table = tables.migrations
        rows = self._rows(queries.migrations(self._columns), table)
        return self._read(instance_rows.migration, table, rows)

    def _moves(self, uuids: Sequence[str], instances: Sequence[str]) -> tuple[Migration, ...]:
        """Migrations with these uuids and migrations of these instances, also deleted ones."""
        found: list[Migration] = []
        for table in (tables.migrations, tables.shadow_migrations):
            query = queries.every(self._columns, table)
            asked = ((table.c.uuid, uuids), (table.c.instance_uuid, instances))
            rows = {
                row.id: row
                for key, wanted in asked
                for row in self._session.rows_of(query, key, wanted)
            }
            read = self._read(instance_rows.migration, table, rows.values())
            # A migration that was archived with its instance is deleted, whatever its row says.
            archived = table is tables.shadow_migrations
            found += (replace(row, deleted=True) if archived else row for row in read)
        return tuple(found)

    def _instances(self, beside: Beside, counted: CountInstances) -> tuple[Instance, ...]:
        rows = InstanceRows(self._cell, self._notes, beside)
        query = queries.alive(self._columns)
        found: list[Instance] = []
        for batch in self._session.batches(query, tables.instances.c.id):
            found += rows.every(batch)
            counted(len(found))
        return tuple(found)

    def _beside(self, devices: Iterable[BlockDevice], uuids: Sequence[str] | None) -> Beside:
        roots = grouped((row.instance, row.destination) for row in devices if row.boot_index == 0)
        return Beside(roots, self._images(uuids))

    def _uuids(self, query: Select[Any], table: TableClause) -> frozenset[str]:
        return frozenset(row.uuid for row in self._session.every_row(query, table.c.id))

    def _devices(self, uuids: Sequence[str] | None) -> tuple[BlockDevice, ...]:
        query = queries.block_devices(self._columns)
        rows = self._rows(query, tables.devices, uuids)
        return self._read(instance_rows.block_device, tables.devices, rows)

    def _images(self, uuids: Sequence[str] | None) -> Mapping[str, Mapping[str, str]]:
        """The image properties of each instance, without the prefix `image_`.

        SAFETY: Nova writes at least one for each instance. An instance without any has lost its
        rows, so its image's requests are unknown.
        """
        images: dict[str, Mapping[str, str]] = {}
        table = tables.system_metadata
        query = queries.image_properties(self._columns)
        for row in self._rows(query, table, uuids):
            uuid = row.instance_uuid
            properties = images.setdefault(uuid, instance_rows.NO_PROPERTIES)
            if row.key != tables.ORIGINAL_IMAGE:
                name = str(row.key).removeprefix(instance_rows.IMAGE_PREFIX)
                images[uuid] = {**properties, name: row.value or ""}
        return images

    def _pci(self, uuids: Sequence[str] | None) -> tuple[PciDevice, ...]:
        table = tables.pci_devices
        rows = self._rows(queries.pci_devices(self._columns), table, uuids)
        return self._read(host_rows.pci_device, table, rows)

    def _rows(
        self, query: Select[Any], table: TableClause, uuids: Sequence[str] | None = None
    ) -> Iterable[Row]:
        """All rows of a query, or those of these instances."""
        if uuids is None:
            return self._session.every_row(query, table.c.id)
        return self._session.rows_of(query, table.c.instance_uuid, uuids)

    def _read(
        self,
        read: Callable[[Reader, Row, str], Read],
        table: TableClause,
        rows: Iterable[Row],
    ) -> tuple[Read, ...]:
        reader = Reader(table.name, self._notes)
        return tuple(reader.every(lambda row: read(reader, row, self._cell), rows))

    def _noted(self) -> Noted:
        return self._notes.so_far(self._columns.unsupported)
