# SPDX-License-Identifier: Apache-2.0
"""Reads Nova's API database: mappings, build requests, request specs and host aggregates."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import ColumnElement, TableClause, select

from trueup.reconcile.facts import (
    Flavor,
    HostAggregate,
    InstanceMapping,
    RequestSpec,
    grouped,
)
from trueup.reconcile.sources.columns import Columns
from trueup.reconcile.sources.database import Row, Session
from trueup.reconcile.sources.notes import Notes
from trueup.reconcile.sources.nova import host_rows, queries, specs, tables
from trueup.reconcile.sources.nova.contract import Registry
from trueup.reconcile.sources.nova.instance_rows import flavor_in_row
from trueup.reconcile.sources.reading import Read, Reader


def read_registry(
    session: Session, source: str, cells: Mapping[int, str], uuids: Iterable[str] | None
) -> Registry:
    """The registry, read in one transaction. `cells` maps ids of cell mappings to UUIDs.

    With `uuids`, rows that belong to an instance are read for these only. All build requests are
    read, because there are few.
    """
    return _Reading(session, source, uuids).registry(cells)


def read_mappings(
    session: Session, source: str, cells: Mapping[int, str], uuids: Iterable[str]
) -> tuple[InstanceMapping, ...]:
    """The instance mappings of these instances. `cells` maps ids of cell mappings to UUIDs."""
    return _Reading(session, source, uuids).mappings(cells)


def read_mapped(session: Session, cell: int) -> tuple[int, int]:
    """How many hosts and how many instances are mapped to the cell with this id."""
    [hosts] = session.rows(queries.hosts_mapped(cell))
    [instances] = session.rows(queries.instances_mapped(cell))
    return hosts.number, instances.number


def read_mapped_to(session: Session, cell: int) -> frozenset[str]:
    """The instances that `read_mapped` counts, by uuid."""
    rows = session.every_row(queries.mapped_to(cell), tables.instance_mappings.c.id)
    return frozenset(row.instance_uuid for row in rows)


def read_flavors(session: Session, source: str) -> tuple[Flavor, ...]:
    """The flavors that are not disabled, by name."""
    columns = Columns(session, source, tables.LATER)
    specs = tables.flavor_extra_specs
    pairs = session.every_row(select(*columns.of(specs)), specs.c.id)
    by_flavor = grouped((row.flavor_id, (row.key, row.value or "")) for row in pairs)
    rows = session.every_row(select(*columns.of(tables.flavors)), tables.flavors.c.id)
    found = (
        flavor_in_row(row, dict(by_flavor.get(row.id, ()))) for row in rows if not row.disabled
    )
    return tuple(sorted(found, key=lambda flavor: flavor.name))


class _Reading:
    def __init__(self, session: Session, source: str, uuids: Iterable[str] | None) -> None:
        self._session = session
        self._notes = Notes()
        self._columns = Columns(session, source, tables.LATER)
        self._wanted = None if uuids is None else sorted(uuids)

    def registry(self, cells: Mapping[int, str]) -> Registry:
        spec = Reader(tables.request_specs.name, self._notes)
        return Registry(
            build_requests=self._read(tables.build_requests, host_rows.build_request),
            host_mappings=self._read(
                tables.host_mappings, lambda _, row: host_rows.host_mapping(row, cells)
            ),
            instance_mappings=self.mappings(cells),
            request_specs=frozenset(
                spec.every(
                    lambda row: spec.uuid(row, "instance_uuid"),
                    # PERF: an index has the only column that is needed; a row has kilobytes.
                    self._of_instances(tables.request_specs, tables.request_specs.c.instance_uuid),
                )
            ),
            specs=self._specs(),
            host_aggregates=tuple(self._aggregates()),
            folds_case=self._session.folds_case(tables.aggregate_hosts.c.host),
            noted=self._notes.so_far(self._columns.unsupported),
        )

    def _aggregates(self) -> Iterator[HostAggregate]:
        return host_rows.host_aggregates(
            Reader(tables.aggregates.name, self._notes),
            self._every(tables.aggregates, tables.aggregates.c.id),
            self._every(tables.aggregate_hosts, tables.aggregate_hosts.c.id),
            self._every(tables.aggregate_metadata, tables.aggregate_metadata.c.id),
        )

    def mappings(self, cells: Mapping[int, str]) -> tuple[InstanceMapping, ...]:
        reader = Reader(tables.instance_mappings.name, self._notes)
        rows = self._of_instances(tables.instance_mappings, tables.instance_mappings.c.id)
        return tuple(reader.every(lambda row: host_rows.instance_mapping(reader, row, cells), rows))

    def _specs(self) -> tuple[RequestSpec, ...]:
        table = tables.request_spec_texts
        if self._wanted is None:
            return ()
        reader = Reader(table.name, self._notes)
        rows = self._of_instances(table, table.c.id)
        return tuple(reader.every(lambda row: specs.request_spec(reader, row), rows))

    def _read(self, table: TableClause, read: Callable[[Reader, Row], Read]) -> tuple[Read, ...]:
        reader = Reader(table.name, self._notes)
        return tuple(reader.every(lambda row: read(reader, row), self._every(table, table.c.id)))

    def _every(self, table: TableClause, key: ColumnElement[Any]) -> Iterable[Row]:
        return self._session.every_row(select(*self._columns.of(table)), key)

    def _of_instances(self, table: TableClause, key: ColumnElement[Any]) -> Iterable[Row]:
        """The rows of the requested instances."""
        if self._wanted is None:
            return self._every(table, key)
        query = select(*self._columns.of(table))
        return self._session.rows_of(query, table.c.instance_uuid, self._wanted)
