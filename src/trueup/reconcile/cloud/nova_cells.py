# SPDX-License-Identifier: Apache-2.0
"""One cell's database: what it says of instances and hosts, in one picture."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, TableClause

from trueup.reconcile.cloud import nova_host_rows, nova_queries, nova_rows
from trueup.reconcile.cloud import nova_tables as tables
from trueup.reconcile.cloud.columns import Columns
from trueup.reconcile.cloud.databases import Row, Session
from trueup.reconcile.cloud.nova_queries import Narrowing
from trueup.reconcile.cloud.nova_rows import Beside, InstanceRows
from trueup.reconcile.cloud.reading import NOTHING_NOTED, Noted, Notes, Read, Reader
from trueup.reconcile.facts import (
    BlockDevice,
    ComputeNode,
    ComputeService,
    Instance,
    Migration,
    PciDevice,
)

# how many instances were read so far
Counted = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class CellContents:
    """What one cell says: of instances and their devices, and of hosts."""

    instances: tuple[Instance, ...]
    migrations: tuple[Migration, ...]
    compute_nodes: tuple[ComputeNode, ...]
    services: tuple[ComputeService, ...]
    block_devices: tuple[BlockDevice, ...] = ()
    pci_devices: tuple[PciDevice, ...] = ()
    # Of the projects that are wanted: the instances that are deleted.
    deleted_uuids: frozenset[str] = frozenset()
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
class CellLookup:
    """What one cell says of instances that were named, and of their moves."""

    instances: tuple[Instance, ...]
    migrations: tuple[Migration, ...]
    noted: Noted = NOTHING_NOTED

    @property
    def rows(self) -> int:
        return len(self.instances) + len(self.migrations) + self.noted.lost_rows


class CellReading:
    """The reading of one cell, with the notes it makes on the way."""

    def __init__(self, session: Session, source: str, cell: str) -> None:
        self._session = session
        self._cell = cell
        self._notes = Notes()
        self._columns = Columns(session, source, tables.NEEDED)

    def contents(self, narrowing: Narrowing, counted: Counted) -> CellContents:
        """Its hosts, and its living instances as far as they are wanted.

        Moves are told of a whole cell only; else they are looked up with their instances.
        """
        wanted = None if narrowing.all_instances else self._uuids(narrowing)
        devices = self._devices(wanted)
        beside = Beside(
            {row.instance: row.destination for row in devices if row.boot_index == 0},
            self._images(wanted),
        )
        instances = self._instances(narrowing, beside, counted)
        services = self._rows(nova_queries.compute_services(self._columns), tables.services)
        nodes = self._rows(
            nova_queries.every(self._columns, tables.compute_nodes), tables.compute_nodes
        )
        return CellContents(
            instances=instances,
            migrations=self._migrations(None) if wanted is None else (),
            compute_nodes=self._read(nova_host_rows.compute_node, tables.compute_nodes, nodes),
            services=self._read(nova_host_rows.compute_service, tables.services, services),
            block_devices=devices,
            pci_devices=self._pci(),
            deleted_uuids=self._deleted_uuids(narrowing),
            noted=self._noted(),
        )

    def lookup(self, uuids: Sequence[str], moves_of: Sequence[str]) -> CellLookup:
        """The rows of these instances, alive, deleted or archived, and of moves of these."""
        rows = InstanceRows(self._cell, self._notes)
        found: list[Instance] = []
        for table in (tables.instances, tables.shadow_instances):
            if uuids and self._columns.has(table):
                query = nova_queries.named(self._columns, table)
                told = self._session.rows_of(query, table.c.uuid, uuids)
                found += rows.every(told, archived=table is tables.shadow_instances)
        migrations = self._migrations(moves_of)
        return CellLookup(tuple(found), migrations, self._noted())

    def _migrations(self, uuids: Sequence[str] | None) -> tuple[Migration, ...]:
        """Every migration; or those of these instances, and those with these uuids."""
        table = tables.migrations
        query = nova_queries.migrations(self._columns)
        if uuids is None:
            return self._read(nova_rows.migration, table, self._rows(query, table))
        rows = {
            row["id"]: row
            for key in (table.c.instance_uuid, table.c.uuid)
            for row in self._session.rows_of(query, key, uuids)
        }
        return self._read(nova_rows.migration, table, rows.values())

    def _instances(
        self, narrowing: Narrowing, beside: Beside, counted: Counted
    ) -> tuple[Instance, ...]:
        rows = InstanceRows(self._cell, self._notes, beside)
        query = nova_queries.alive(self._columns, narrowing)
        found: list[Instance] = []
        for batch in self._session.batches(query, tables.instances.c.id):
            found += rows.every(batch)
            counted(len(found))
        return tuple(found)

    def _uuids(self, narrowing: Narrowing) -> list[str]:
        """The living instances that are wanted, as they are written in this cell."""
        query = nova_queries.alive(self._columns, narrowing)
        uuid = tables.instances.c.uuid
        return [row["uuid"] for row in self._session.rows(query.with_only_columns(uuid))]

    def _deleted_uuids(self, narrowing: Narrowing) -> frozenset[str]:
        if narrowing.projects is None:
            return frozenset()
        query = nova_queries.deleted(self._columns, narrowing)
        return frozenset(
            row["uuid"] for row in self._session.every_row(query, tables.instances.c.id)
        )

    def _devices(self, uuids: Sequence[str] | None) -> tuple[BlockDevice, ...]:
        query = nova_queries.block_devices(self._columns)
        rows = self._rows(query, tables.devices, uuids)
        return self._read(nova_rows.block_device, tables.devices, rows)

    def _images(self, uuids: Sequence[str] | None) -> Mapping[str, Mapping[str, str]]:
        """The properties of each image that has some, without the prefix."""
        images: dict[str, dict[str, str]] = {}
        table = tables.system_metadata
        if not self._columns.has(table):
            return images
        query = nova_queries.image_properties(self._columns)
        reader = Reader(table.name, self._notes)
        for row in self._rows(query, table, uuids):
            name = str(row["key"]).removeprefix(nova_rows.IMAGE_PREFIX)
            images.setdefault(reader.uuid(row, "instance_uuid"), {})[name] = row["value"] or ""
        return images

    def _pci(self) -> tuple[PciDevice, ...]:
        table = tables.pci_devices
        if not self._columns.has(table):
            return ()
        rows = self._rows(nova_queries.pci_devices(self._columns), table)
        return self._read(nova_host_rows.pci_device, table, rows)

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
        return self._notes.so_far(self._columns.lacking)
