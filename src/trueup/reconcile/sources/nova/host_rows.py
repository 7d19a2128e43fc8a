# SPDX-License-Identifier: Apache-2.0
"""Rows about hosts, and rows of Nova's API database → facts. No queries here."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from trueup.reconcile.facts import (
    SERVICE_DOWN_AFTER,
    BuildRequest,
    ComputeNode,
    ComputeService,
    Hardware,
    HostAggregate,
    HostMapping,
    InstanceMapping,
    PciDevice,
    grouped,
    is_uuid,
)
from trueup.reconcile.sources.database import Row
from trueup.reconcile.sources.nova.numa import host_topology
from trueup.reconcile.sources.reading import Reader


def compute_node(reader: Reader, row: Row, cell: str) -> ComputeNode:
    """A row of `compute_nodes`."""
    return ComputeNode(
        uuid=reader.uuid(row, "uuid"),
        cell=cell,
        host=row.host or "",
        node=row.hypervisor_hostname or "",
        number=row.id or 0,
        hypervisor=row.hypervisor_type or "",
        deleted=reader.deleted(row),
        updated_at=reader.moment(row, "updated_at"),
        created_at=reader.moment(row, "created_at"),
        address=row.host_ip or "",
        numa=host_topology(reader, row),
    )


def hardware(row: Row) -> Hardware:
    """The hardware of a host, from the row of its compute node."""
    return Hardware(
        vcpus=row.vcpus or 0,
        memory_mb=row.memory_mb or 0,
        disk_gb=row.local_gb or 0,
        cpu_ratio=row.cpu_allocation_ratio,
        ram_ratio=row.ram_allocation_ratio,
        disk_ratio=row.disk_allocation_ratio,
    )


COMPUTE = "nova-compute"


def last_seen(reader: Reader, row: Row) -> datetime | None:
    """The last report of a service of any kind; before its first report, its creation."""
    times = (reader.moment(row, name) for name in ("last_seen_up", "updated_at", "created_at"))
    return next((moment for moment in times if moment), None)


def compute_service(
    reader: Reader, row: Row, cell: str, down_after: timedelta = SERVICE_DOWN_AFTER
) -> ComputeService:
    """A row of `services`; `down_after` is Nova's `service_down_time`."""
    return ComputeService(
        cell=cell,
        host=row.host or "",
        forced_down=reader.flag(row, "forced_down"),
        last_seen=last_seen(reader, row),
        uuid=reader.uuid(row, "uuid"),
        disabled=reader.flag(row, "disabled"),
        disabled_reason=row.disabled_reason or "",
        version=reader.number(row, "version") or 0,
        deleted=reader.deleted(row),
        down_after=down_after,
    )


def pci_device(reader: Reader, row: Row, cell: str) -> PciDevice:
    """A row of `pci_devices`."""
    extra = _extra(reader, row)
    return PciDevice(
        cell=cell,
        compute_node=row.compute_node_id,
        address=row.address or "",
        vendor=row.vendor_id or "",
        product=row.product_id or "",
        kind=row.dev_type or "",
        status=row.status or "",
        instance=reader.uuid(row, "instance_uuid") or None,
        request_id=row.request_id,
        numa_node=row.numa_node,
        parent_address=row.parent_addr,
        parent_interface=_text(extra.get("parent_ifname")),
        provider=_text(extra.get("rp_uuid")),
    )


def _extra(reader: Reader, row: Row) -> Mapping[str, Any]:
    extra = reader.document(row, "extra_info")
    if extra is None:
        return {}
    if not isinstance(extra, dict):
        reader.note(row, "extra_info", "it is no JSON object")
        return {}
    return extra


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def build_request(reader: Reader, row: Row) -> BuildRequest:
    return BuildRequest(
        reader.uuid(row, "instance_uuid"),
        row.project_id or "",
        reader.moment(row, "created_at"),
    )


def host_mapping(row: Row, cells: Mapping[int, str]) -> HostMapping:
    return HostMapping(row.host or "", cells.get(row.cell_id, ""))


def instance_mapping(reader: Reader, row: Row, cells: Mapping[int, str]) -> InstanceMapping:
    """A row of `instance_mappings`. `cells` maps the id of a cell mapping to the cell's UUID."""
    times = () if row.cell_id is not None else ("updated_at", "created_at")
    moments = (reader.moment(row, name) for name in times)
    return InstanceMapping(
        instance=reader.uuid(row, "instance_uuid"),
        cell=None if row.cell_id is None else cells.get(row.cell_id, ""),
        project=row.project_id or "",
        queued_for_delete=reader.flag(row, "queued_for_delete"),
        changed_at=next((moment for moment in moments if moment), None),
    )


def host_aggregates(
    reader: Reader, rows: Iterable[Row], hosts: Iterable[Row], metadata: Iterable[Row]
) -> Iterator[HostAggregate]:
    """Host aggregates, each with its hosts and metadata.

    SAFETY: an aggregate that Placement cannot have, or with a host without a name, is noted and
    left out, so that no provider is added to it or removed from it.
    """
    members = grouped((row.aggregate_id, row.host) for row in hosts)
    properties = grouped((row.aggregate_id, (row.key, row.value)) for row in metadata)
    for row in rows:
        uuid, hosts_in = str(row.uuid or ""), members.get(row.id, ())
        if not is_uuid(uuid):
            reader.note(row, "uuid", f"{uuid!r} is no UUID, and the aggregate is not compared")
        elif not all(hosts_in):
            reader.note(row, "hosts", "one has no name, and the aggregate is not compared")
        else:
            yield HostAggregate(uuid, row.name or "", hosts_in, dict(properties.get(row.id, ())))
