# SPDX-License-Identifier: Apache-2.0
"""Reads the inputs of Nova's scheduler: a request with its server group, and hosts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import TableClause, select

from trueup.reconcile.facts import (
    ComputeService,
    Flavor,
    HostAggregate,
    ScheduledServer,
    ScheduleRequest,
    SchedulerHost,
    ServerGroup,
    grouped,
    named_instances,
)
from trueup.reconcile.sources.columns import Columns
from trueup.reconcile.sources.database import Row, Session
from trueup.reconcile.sources.notes import Notes
from trueup.reconcile.sources.nova import host_rows, tables
from trueup.reconcile.sources.nova.groups import read_group_of
from trueup.reconcile.sources.nova.instance_rows import (
    flavor_in_row,
    flavor_of,
    numa_topology,
    pci_request,
)
from trueup.reconcile.sources.nova.numa import host_topology
from trueup.reconcile.sources.reading import Reader


class NotARequest(ValueError):
    """The text of a request spec cannot be understood; the text says why."""


@dataclass(frozen=True, slots=True)
class ApiSide:
    """The API database's rows for one instance. `cell` is the number of its cell mapping."""

    request: ScheduleRequest | None
    cell: int | None
    aggregates: tuple[HostAggregate, ...]


@dataclass(frozen=True, slots=True)
class CellSide:
    """A cell's row of a server, and the hosts of instances, by uuid."""

    server: ScheduledServer | None
    places: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class HostsAround:
    """Facts about hosts from outside their cell: aggregates, and the hosts of instances.

    `hardware` says that the request needs NUMA cells or PCI devices.
    """

    aggregates: tuple[HostAggregate, ...]
    places: Mapping[str, str]
    hardware: bool = False


@dataclass(frozen=True, slots=True)
class Schedule:
    """A request, with the facts that the scheduler needs. `silent` cells did not answer.

    `departures`: when compute nodes were deleted, of those that are not archived yet.
    """

    request: ScheduleRequest
    server: ScheduledServer | None
    aggregates: tuple[HostAggregate, ...]
    hosts: tuple[SchedulerHost, ...]
    silent: tuple[str, ...]
    departures: tuple[datetime, ...] = ()


def read_api_side(session: Session, source: str, uuid: str) -> ApiSide:
    """The request of an instance, its cell, and all host aggregates. Raises NotARequest."""
    columns = Columns(session, source, tables.LATER)
    mappings = tables.instance_mappings
    mapped = list(_rows_with(session, columns, mappings, "instance_uuid", [uuid]))
    notes = Notes()
    aggregates = host_rows.host_aggregates(
        Reader(tables.aggregates.name, notes),
        *(
            session.every_row(select(*columns.of(aggregate_table)), aggregate_table.c.id)
            for aggregate_table in (
                tables.aggregates,
                tables.aggregate_hosts,
                tables.aggregate_metadata,
            )
        ),
    )
    cell = mapped[0].cell_id if mapped else None
    return ApiSide(_request(session, columns, uuid), cell, tuple(aggregates))


def read_flavors_named(session: Session, source: str, name: str) -> list[Flavor]:
    """The flavors with this id or name."""
    columns = Columns(session, source, tables.LATER)
    rows = {
        row.id: row
        for key in ("flavorid", "name")
        for row in _rows_with(session, columns, tables.flavors, key, [name])
    }
    specs = _rows_with(session, columns, tables.flavor_extra_specs, "flavor_id", list(rows))
    of_flavor = grouped((row.flavor_id, (row.key, row.value or "")) for row in specs)
    return [flavor_in_row(row, dict(of_flavor.get(number, ()))) for number, row in rows.items()]


def read_cell_side(session: Session, cell: str, source: str, request: ScheduleRequest) -> CellSide:
    """A cell's row of a server, and the hosts of the instances that its request names."""
    columns = Columns(session, source, tables.LATER)
    wanted = sorted(named_instances(request))
    rows = _rows_with(session, columns, tables.instances, "uuid", wanted)
    places = {row.uuid: row.host for row in rows if not row.deleted and row.host}
    return CellSide(_server(session, columns, cell, request.instance), places)


def _server(session: Session, columns: Columns, cell: str, uuid: str) -> ScheduledServer | None:
    """The instance in its cell, also if it is deleted, and its last fault."""
    rows = list(_rows_with(session, columns, tables.instances, "uuid", [uuid]))
    if not rows:
        return None
    row = rows[0]
    faults = _rows_with(session, columns, tables.instance_faults, "instance_uuid", [uuid])
    last = max(faults, key=lambda fault: fault.id, default=None)
    reader = Reader(tables.instance_faults.name, Notes())
    return ScheduledServer(
        uuid=uuid,
        name=row.display_name or "",
        cell=cell,
        host=row.host or None,
        vm_state=row.vm_state or "",
        task_state=row.task_state or "",
        fault=(last.message or "") if last else "",
        fault_at=reader.moment(last, "created_at") if last else None,
    )


def read_hosts(
    session: Session,
    cell: str,
    source: str,
    services: Iterable[ComputeService],
    known: HostsAround,
) -> list[SchedulerHost]:
    """The compute nodes of a cell that have a service: Nova leaves out others."""
    columns = Columns(session, source, tables.LATER)
    by_host = {service.host: service for service in services}
    of_host = grouped(
        (host, aggregate) for aggregate in known.aggregates for host in aggregate.hosts
    )
    on_host = grouped((host, uuid) for uuid, host in known.places.items())
    nodes = tables.scheduler_nodes
    rows = session.every_row(select(*columns.of(nodes)).where(nodes.c.deleted == 0), nodes.c.id)
    found = [
        host_of(row, cell, by_host[row.host], of_host.get(row.host, ()), on_host.get(row.host, ()))
        for row in rows
        if row.host in by_host
    ]
    if not known.hardware:
        return found
    nodes = tables.scheduler_hardware
    rows = session.every_row(select(*columns.of(nodes)).where(nodes.c.deleted == 0), nodes.c.id)
    by_uuid = {str(row.uuid).lower(): row for row in rows}
    return [with_hardware(host, by_uuid[host.uuid]) for host in found if host.uuid in by_uuid]


def read_departures(session: Session, cell: str, source: str) -> list[datetime]:
    """When the deleted compute nodes of a cell were deleted."""
    nodes = tables.departed_nodes
    columns = Columns(session, source, tables.LATER)
    reader = Reader(nodes.name, Notes())
    rows = session.every_row(select(*columns.of(nodes)).where(nodes.c.deleted != 0), nodes.c.id)
    return [moment for row in rows if (moment := reader.moment(row, "deleted_at"))]


def with_group_hosts(request: ScheduleRequest, places: Mapping[str, str]) -> ScheduleRequest:
    """The request, with the hosts of its group's members."""
    if request.group is None:
        return request
    hosts = frozenset(places[member] for member in request.group.members if member in places)
    return replace(request, group=replace(request.group, hosts=hosts))


def _rows_with(
    session: Session, columns: Columns, table: TableClause, key: str, wanted: Sequence[Any]
) -> Iterable[Row]:
    return session.rows_of(select(*columns.of(table)), table.c[key], wanted)


def _request(session: Session, columns: Columns, uuid: str) -> ScheduleRequest | None:
    specs = tables.request_spec_texts
    rows = list(_rows_with(session, columns, specs, "instance_uuid", [uuid]))
    if not rows:
        return None
    try:
        spec = msgspec.json.decode(rows[0].spec)["nova_object.data"]
        return request_of(uuid, spec, read_group_of(session, columns, uuid))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise NotARequest(f"{type(error).__name__}: {error}") from error


def request_of(
    uuid: str, spec: Mapping[str, Any], group: ServerGroup | None = None
) -> ScheduleRequest:
    """The request that a request spec makes. Raises LookupError, TypeError, ValueError.

    PARITY: Nova does not load `ignore_hosts`, which old releases have stored.
    """
    image = (spec.get("image") or {}).get("nova_object.data", {})
    properties = (image.get("properties") or {}).get("nova_object.data", {})
    pci = (spec.get("pci_requests") or {}).get("nova_object.data", {})
    hints = spec.get("scheduler_hints") or {}
    return ScheduleRequest(
        instance=uuid,
        project=str(spec.get("project_id") or ""),
        flavor=flavor_of(spec["flavor"]),
        image=image_properties(properties),
        image_id=image.get("id"),
        disk_format=image.get("disk_format") or "",
        # Up to Queens it does not say so; the image of a volume has no id.
        volume_backed=bool(spec.get("is_bfv", not image.get("id"))),
        zone=spec.get("availability_zone"),
        hints={key: _texts(value) for key, value in hints.items()},
        forced_hosts=tuple(spec.get("force_hosts") or ()),
        forced_nodes=tuple(spec.get("force_nodes") or ()),
        group=group,
        numa=numa_topology(spec["numa_topology"]) if spec.get("numa_topology") else None,
        devices=tuple(map(pci_request, pci.get("requests") or ())),
    )


def image_properties(properties: Mapping[str, Any]) -> dict[str, str]:
    """The properties of an image as text, in Glance's format."""
    found = {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in properties.items()
        if value is not None and not isinstance(value, list | dict)
    }
    for key in ("hw_numa_cpus", "hw_numa_mem"):
        for number, part in enumerate(properties.get(key) or ()):
            words = part if isinstance(part, list) else [part]
            found[f"{key}.{number}"] = ",".join(map(str, words))
    traits = properties.get("traits_required") or ()
    return found | {f"trait:{name}": "required" for name in traits}


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)


def host_of(
    row: Any,
    cell: str,
    service: ComputeService,
    aggregates: Iterable[HostAggregate],
    instances: Iterable[str],
) -> SchedulerHost:
    """A row of `compute_nodes`, with other facts about its host."""
    stats = _json(row.stats, {}) if _is_complete(row) else {}
    supported = _json(row.supported_instances, []) if _is_complete(row) else []
    return SchedulerHost(
        uuid=str(row.uuid).lower(),
        cell=cell,
        host=row.host or "",
        node=row.hypervisor_hostname or "",
        address=row.host_ip or "",
        service=service,
        aggregates=tuple(aggregates),
        made_at=Reader(tables.scheduler_nodes.name, Notes()).moment(row, "created_at"),
        attributes=_attributes(row, stats),
        stats=stats,
        supported=tuple(tuple(map(str, triple)) for triple in supported),
        instances=frozenset(instances),
    )


def with_hardware(host: SchedulerHost, row: Any) -> SchedulerHost:
    """A host with its NUMA cells and PCI devices, from its row of `compute_nodes`."""
    if not host.attributes.get("uuid"):
        return host
    numa = host_topology(Reader(tables.scheduler_hardware.name, Notes()), row)
    return replace(host, numa=numa, pools=_pools(row.pci_stats))


def _pools(text: str | None) -> tuple[Mapping[str, Any], ...] | None:
    """The free PCI devices of a host, by kind; None: this cannot be read."""
    if not text:
        return ()
    try:
        document = msgspec.json.decode(text)
        pools = [pool["nova_object.data"] for pool in document["nova_object.data"]["objects"]]
        return tuple({**pool, **pool.pop("tags")} for pool in pools)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _attributes(row: Row, stats: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes that a flavor may name. PARITY: as nova.scheduler.host_manager.HostState."""
    fixed = {
        "uuid": row.uuid,
        "host_ip": row.host_ip,
        "hypervisor_type": row.hypervisor_type,
        "hypervisor_version": row.hypervisor_version,
        "hypervisor_hostname": row.hypervisor_hostname,
        "cpu_info": row.cpu_info,
        "cpu_allocation_ratio": row.cpu_allocation_ratio,
        "ram_allocation_ratio": row.ram_allocation_ratio,
        "disk_allocation_ratio": row.disk_allocation_ratio,
    }
    free_gb = row.free_disk_gb or 0
    if row.disk_available_least is not None:
        free_gb = min(free_gb, row.disk_available_least)
    amounts = {
        "total_usable_ram_mb": row.memory_mb,
        "total_usable_disk_gb": row.local_gb,
        "disk_mb_used": (row.local_gb_used or 0) * 1024,
        "free_ram_mb": row.free_ram_mb,
        "free_disk_mb": free_gb * 1024,
        "vcpus_total": row.vcpus,
        "vcpus_used": row.vcpus_used,
        "num_instances": stats.get("num_instances") or 0,
        "num_io_ops": stats.get("io_workload") or 0,
        "failed_builds": stats.get("failed_builds") or 0,
    }
    if not _is_complete(row):
        fixed, amounts = dict.fromkeys(fixed), dict.fromkeys(amounts, 0)
    return {"host": row.host, "nodename": row.hypervisor_hostname} | fixed | amounts


def _is_complete(row: Row) -> bool:
    """PARITY: of a row that nova-compute has not completed yet Nova knows the names only."""
    return row.free_disk_gb is not None


def _json(text: str | None, empty: Any) -> Any:
    """The JSON in a column; `empty` if there is none, or if it is broken."""
    try:
        return msgspec.json.decode(text) if text else empty
    except (ValueError, TypeError, RecursionError):
        return empty
