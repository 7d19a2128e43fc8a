# SPDX-License-Identifier: Apache-2.0
"""The queries on Nova's databases. All of them only read."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    TableClause,
    and_,
    case,
    false,
    func,
    null,
    or_,
    select,
)

from trueup.reconcile.sources.columns import Columns
from trueup.reconcile.sources.nova import tables
from trueup.reconcile.sources.nova.contract import InstanceFilter


def every(columns: Columns, table: TableClause) -> Select[Any]:
    """All rows of a table, deleted or not."""
    return select(*columns.of(table))


def one_row(table: TableClause) -> Select[Any]:
    """A row of a table, if it has any."""
    return select(table.c.id).limit(1)


def hosts_mapped(cell: int) -> Select[Any]:
    """How many hosts are mapped to the cell with this id."""
    mappings = tables.host_mappings
    return select(func.count().label("number")).where(mappings.c.cell_id == cell)


def instances_mapped(cell: int) -> Select[Any]:
    """How many instances are mapped to the cell with this id, and not queued for deletion.

    Mappings from before Rocky that were never completed (NULL) may be of instances long gone.
    """
    return select(func.count().label("number")).where(*_kept_in(cell))


def mapped_to(cell: int) -> Select[Any]:
    """The uuids of the instances that `instances_mapped` counts."""
    mappings = tables.instance_mappings.c
    return select(mappings.id, mappings.instance_uuid).where(*_kept_in(cell))


def _kept_in(cell: int) -> Sequence[ColumnElement[bool]]:
    mappings = tables.instance_mappings.c
    return (mappings.cell_id == cell, mappings.queued_for_delete.is_(false()))


def of_host(columns: Columns, table: TableClause, host: str) -> Select[Any]:
    """The rows of one host, deleted or not."""
    return every(columns, table).where(table.c.host == host)


def nodes_with(columns: Columns, uuid: str, name: str) -> Select[Any]:
    """The compute nodes with this uuid or, if given, with this name; deleted or not.

    PERF: a guard reads this before each step, and a large cell has 10,000 compute nodes. Without a
    name, the query uses an index.
    """
    nodes = tables.compute_nodes
    called = nodes.c.hypervisor_hostname == name if name else false()
    return every(columns, nodes).where(or_(nodes.c.uuid == uuid, called))


def living_places(columns: Columns) -> Select[Any]:
    """The host and the name of each compute node that is not deleted."""
    nodes = tables.compute_nodes
    columns.need(nodes)
    return select(nodes.c.host, nodes.c.hypervisor_hostname).where(nodes.c.deleted == 0)


def latest_reports(columns: Columns) -> Select[Any]:
    """The services with the latest report, except deleted ones.

    PERF: a guard reads this before each step, and a large cell has 10,000 services. If no service
    of a cell has ever reported, all of them are new.
    """
    services = tables.services
    living = _not_deleted(services)
    last = select(func.max(services.c.last_seen_up)).where(living).scalar_subquery()
    reported = or_(services.c.last_seen_up == last, last.is_(None))
    return every(columns, services).where(living, reported)


def alive(columns: Columns) -> Select[Any]:
    """Instances that are not deleted, with their flavor and requests.

    A row whose `deleted` is NULL counts as not deleted.
    """
    return _joined(columns, tables.instances).where(_not_deleted(tables.instances))


def living_uuids(wanted: InstanceFilter) -> Select[Any]:
    """The uuids of instances that are not deleted."""
    instances = tables.instances
    chosen = select(instances.c.id, instances.c.uuid).where(_not_deleted(instances))
    return chosen.where(*_conditions(instances, wanted))


def deleted_uuids(wanted: InstanceFilter, table: TableClause) -> Select[Any]:
    """The UUIDs of instances that are deleted or archived."""
    chosen = select(table.c.id, table.c.uuid).where(table.c.deleted != 0)
    return chosen.where(*_conditions(table, InstanceFilter(projects=wanted.projects)))


def named(columns: Columns, table: TableClause) -> Select[Any]:
    """Instances, alive, deleted or archived, without the columns that only living ones need."""
    return select(*columns.of(table), *_nothing(*_EXTRA))


def block_devices(columns: Columns) -> Select[Any]:
    """Root devices and volumes that are not deleted. The flavor determines other local disks."""
    devices = tables.devices.c
    return select(*columns.of(tables.devices)).where(
        and_(
            devices.deleted == 0,
            or_(devices.boot_index == 0, devices.destination_type == "volume"),
        )
    )


def image_properties(columns: Columns) -> Select[Any]:
    """The image properties that affect an allocation, and the one that every instance has."""
    metadata = tables.system_metadata.c
    names = (*tables.IMAGE_PROPERTIES, tables.ORIGINAL_IMAGE)
    # PERF: most rows are about other properties, and comparing their first letters is faster.
    letters = min(map(len, names))
    nearly = func.substr(metadata.key, 1, letters).in_(sorted({name[:letters] for name in names}))
    chosen = or_(*(metadata.key.startswith(name, autoescape=True) for name in names))
    return select(*columns.of(tables.system_metadata)).where(metadata.deleted == 0, nearly, chosen)


def migrations(columns: Columns) -> Select[Any]:
    """Migrations of every kind and status that are not deleted."""
    return every(columns, tables.migrations).where(_not_deleted(tables.migrations))


def migrations_at(columns: Columns, host: str) -> Select[Any]:
    """Migrations from or to a host, of every kind and status, that are not deleted."""
    table = tables.migrations.c
    return migrations(columns).where(or_(table.source_compute == host, table.dest_compute == host))


def pci_devices(columns: Columns) -> Select[Any]:
    return select(*columns.of(tables.pci_devices)).where(tables.pci_devices.c.deleted == 0)


_EXTRA = ("extra_id", "flavor", "pci_requests", "numa_topology", "resources",
          "network_info")  # fmt: skip


def _joined(columns: Columns, instances: TableClause) -> Select[Any]:
    extra = [
        column.label("extra_id") if column.name == "id" else column
        for column in columns.of(tables.instance_extra)
        if column.name != "instance_uuid"
    ]
    source = instances.outerjoin(
        tables.instance_extra, tables.instance_extra.c.instance_uuid == instances.c.uuid
    )
    caches = tables.info_caches.c
    columns.of(tables.info_caches)
    source = source.outerjoin(tables.info_caches, caches.instance_uuid == instances.c.uuid)
    # PERF: the network cache is most of a cell's bytes, and is needed only if a port has an
    # allocation. SAFETY: it is also read if the server cannot decide whether a port has one.
    holds = caches.network_info.regexp_match('"allocation"')
    ports = case((~holds, null()), else_=caches.network_info)
    return select(*columns.of(instances), *extra, ports.label("network_info")).select_from(source)


def caching(columns: Columns, ports: Iterable[str]) -> Select[Any]:
    """The network caches of living instances that name one of these ports."""
    instances, caches = tables.instances, tables.info_caches
    text = caches.c.network_info
    source = caches.join(instances, caches.c.instance_uuid == instances.c.uuid)
    named = or_(*(text.contains(port, autoescape=True) for port in ports))
    return select(*columns.of(caches)).select_from(source).where(_not_deleted(instances), named)


def _nothing(*names: str) -> list[ColumnElement[Any]]:
    return [null().label(name) for name in names]


def _not_deleted(table: TableClause) -> ColumnElement[bool]:
    return or_(table.c.deleted == 0, table.c.deleted.is_(None))


def _conditions(table: TableClause, wanted: InstanceFilter) -> Sequence[ColumnElement[bool]]:
    conditions = []
    if wanted.hosts is not None:
        on_node = and_(table.c.host.is_(None), _among(table.c.node, wanted.nodes))
        conditions.append(or_(_among(table.c.host, wanted.hosts), on_node))
    if wanted.projects is not None:
        conditions.append(_among(table.c.project_id, wanted.projects))
    return conditions


def _among(column: ColumnElement[Any], wanted: frozenset[str]) -> ColumnElement[bool]:
    return column.in_(sorted(wanted)) if wanted else false()
