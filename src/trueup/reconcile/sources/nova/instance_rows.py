# SPDX-License-Identifier: Apache-2.0
"""Rows of a cell's database about instances → facts. No SQL and no connection here."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec

from trueup.reconcile.facts import (
    AssignedResource,
    BlockDevice,
    Flavor,
    Instance,
    Migration,
    NumaCell,
    NumaTopology,
    PciRequest,
    canonical_uuid,
)
from trueup.reconcile.sources.database import Row
from trueup.reconcile.sources.notes import Notes
from trueup.reconcile.sources.reading import Reader

# RecursionError: JSON of thousands of nested brackets.
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
NO_PROPERTIES: Mapping[str, str] = {}
IMAGE_PREFIX = "image_"
# Sizes of pages that Nova writes in place of a word.
_PAGE_SIZES = {-1: "small", -2: "large", -3: "any"}


@dataclass(frozen=True, slots=True)
class Flavors:
    """The content of `instance_extra.flavor`: during a resize also the old and the new flavor."""

    present: Flavor | None
    old: Flavor | None = None
    new: Flavor | None = None


@dataclass(frozen=True, slots=True)
class Beside:
    """Facts about instances from other tables, by UUID."""

    # destinations of the root devices; nearly every instance has one root device
    roots: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # None: not requested
    images: Mapping[str, Mapping[str, str]] | None = None


class InstanceRows:
    """Instances of one cell."""

    def __init__(self, cell: str, notes: Notes, beside: Beside | None = None) -> None:
        self._cell = cell
        self._beside = beside or Beside()
        self._instances = Reader("instances", notes)
        self._extra = Reader("instance_extra", notes, key="extra_id")

    def every(self, rows: Iterable[Row], archived: bool = False) -> Iterator[Instance]:
        """An instance for each row that can be understood."""
        return self._instances.every(lambda row: self._instance(row, archived), rows)

    def _instance(self, row: Row, archived: bool) -> Instance:
        uuid = self._instances.uuid(row, "uuid")
        flavors = self._flavors(row)
        images = self._beside.images
        image = NO_PROPERTIES if images is None else images.get(uuid)
        requests = self._pci_requests(row)
        holding = ports_in(row.network_info, holding=True)
        known = row.deleted is not None
        if not known:
            self._instances.note(row, "deleted", "it is NULL: neither deleted nor alive")
        return Instance(
            uuid=uuid,
            name=row.display_name or "",
            cell=self._cell,
            project=row.project_id or "",
            user=row.user_id or "",
            # An empty text, which is only written by hand, is no host.
            host=row.host or None,
            node=row.node or None,
            # SAFETY: an instance without a state counts as in motion, and is left alone.
            vm_state=row.vm_state if known else None,
            task_state=row.task_state,
            deleted=self._instances.flag(row, "deleted"),
            hidden=self._instances.flag(row, "hidden"),
            updated_at=self._instances.moment(row, "updated_at"),
            deleted_at=self._instances.moment(row, "deleted_at"),
            flavor=flavors.present,
            volume_backed=self._volume_backed(uuid, row),
            created_at=self._instances.moment(row, "created_at"),
            power_state=self._instances.number(row, "power_state"),
            image=row.image_ref or None,
            image_properties=image,
            old_flavor=flavors.old,
            new_flavor=flavors.new,
            numa_topology=self._numa_topology(row),
            pci_requests=requests,
            assigned_resources=self._assigned(row),
            archived=archived,
            ports_hold=holding is None or bool(holding),
            ports_holding=holding or (),
            deleted_by_hand=row.deleted not in (None, 0, row.id),
        )

    def _flavors(self, row: Row) -> Flavors:
        if not row.flavor:
            return Flavors(None)
        flavors = parse_flavors(row.flavor)
        if flavors.present is None:
            self._extra.note(row, "flavor", "it is not the JSON of a flavor")
        return flavors

    def _pci_requests(self, row: Row) -> tuple[PciRequest, ...] | None:
        text = row.pci_requests
        if not text or text == "[]":
            return ()
        try:
            return tuple(pci_request(request) for request in _elements(text, "requests"))
        except _UNREADABLE as error:
            self._extra.note(row, "pci_requests", f"not PCI requests: {error}")
            return None

    def _numa_topology(self, row: Row) -> NumaTopology | None:
        if not row.numa_topology:
            return None
        try:
            return numa_topology(msgspec.json.decode(row.numa_topology))
        except _UNREADABLE as error:
            self._extra.note(row, "numa_topology", f"not a NUMA topology: {error}")
            return NumaTopology(None)

    def _assigned(self, row: Row) -> tuple[AssignedResource, ...]:
        if not row.resources:
            return ()
        try:
            return tuple(_assigned(resource) for resource in _elements(row.resources, "objects"))
        except _UNREADABLE as error:
            self._extra.note(row, "resources", f"not resources: {error}")
            return ()

    def _volume_backed(self, uuid: str, row: Row) -> bool | None:
        """As Nova decides it: by the root device or, without one, by an empty image.

        None: there are several root devices, which contradict each other.
        """
        destinations = self._beside.roots.get(uuid)
        if destinations is None:
            return not row.image_ref
        volumes = destinations.count("volume")
        return bool(volumes) if volumes in (0, len(destinations)) else None


@lru_cache(maxsize=4096)
def parse_flavors(text: str) -> Flavors:
    """The flavors of `instance_extra.flavor`; the current one is None if it cannot be read.

    PERF: cached by text, since a cloud has few flavors and many instances.
    """
    try:
        kept = msgspec.json.decode(text)
        present = flavor_of(kept["cur"])
        return Flavors(present, _flavor_or_none(kept.get("old")), _flavor_or_none(kept.get("new")))
    except _UNREADABLE:
        return Flavors(None)


def _flavor_or_none(kept: Mapping[str, Any] | None) -> Flavor | None:
    return None if kept is None else flavor_of(kept)


def flavor_in_row(row: Row, extra_specs: Mapping[str, str]) -> Flavor:
    """The flavor of a row of `flavors`."""
    return Flavor(
        name=row.name,
        vcpus=row.vcpus,
        memory_mb=row.memory_mb,
        root_gb=row.root_gb or 0,
        ephemeral_gb=row.ephemeral_gb or 0,
        swap_mb=row.swap or 0,
        extra_specs=extra_specs,
    )


def flavor_of(kept: Mapping[str, Any]) -> Flavor:
    """A flavor from Nova's JSON. Raises LookupError, TypeError or ValueError."""
    fields = kept["nova_object.data"]
    if int(fields["vcpus"]) < 1 or int(fields["memory_mb"]) < 1:
        # Nova makes no such flavor: it was written by hand.
        raise ValueError("it has no processor or no memory")
    return Flavor(
        name=str(fields["name"]),
        vcpus=int(fields["vcpus"]),
        memory_mb=int(fields["memory_mb"]),
        # Nova cannot load a flavor in which one of these is null.
        root_gb=int(fields["root_gb"]),
        ephemeral_gb=int(fields["ephemeral_gb"]),
        swap_mb=int(fields["swap"]),
        extra_specs={str(k): str(v) for k, v in (fields.get("extra_specs") or {}).items()},
    )


def block_device(reader: Reader, row: Row, cell: str) -> BlockDevice:
    """A row of `block_device_mapping`."""
    return BlockDevice(
        instance=reader.uuid(row, "instance_uuid"),
        cell=cell,
        boot_index=row.boot_index,
        source=row.source_type or "",
        destination=row.destination_type or "",
        guest_format=row.guest_format,
        volume=row.volume_id,
        size_gb=row.volume_size,
    )


def migration(reader: Reader, row: Row, cell: str) -> Migration:
    """A row of `migrations`."""
    return Migration(
        uuid=reader.uuid(row, "uuid"),
        cell=cell,
        instance=reader.uuid(row, "instance_uuid"),
        kind=row.migration_type or "migration",
        status=row.status or "of unknown status",
        source_host=row.source_compute,
        source_node=row.source_node,
        target_host=row.dest_compute,
        target_node=row.dest_node,
        created_at=reader.moment(row, "created_at"),
        updated_at=reader.moment(row, "updated_at"),
        between_cells=reader.flag(row, "cross_cell_move"),
        deleted=reader.deleted(row),
    )


def pci_request(kept: Mapping[str, Any]) -> PciRequest:
    """A PCI request as Nova keeps it."""
    fields = kept.get("nova_object.data", kept)
    return PciRequest(
        request_id=str(fields.get("request_id") or ""),
        count=int(fields["count"]),
        alias=fields.get("alias_name"),
        requester=fields.get("requester_id"),
        numa_policy=fields.get("numa_policy"),
        specs=tuple(
            {str(name): None if value is None else str(value) for name, value in spec.items()}
            for spec in fields.get("spec") or ()
        ),
    )


def numa_topology(kept: Mapping[str, Any]) -> NumaTopology:
    """The NUMA cells of a server as Nova keeps them."""
    fields = kept["nova_object.data"]
    cells = tuple(_numa_cell(cell["nova_object.data"]) for cell in fields["cells"])
    return NumaTopology(cells, fields.get("emulator_threads_policy"))


def _numa_cell(fields: Mapping[str, Any]) -> NumaCell:
    processors = tuple(sorted(fields.get("cpuset") or ()))
    pinned = tuple(sorted(fields.get("pcpuset") or ()))
    # Up to Ussuri (version 1.4 of the object) `cpuset` had the dedicated processors too. Later
    # releases rewrite such a row when they next load it.
    if "pcpuset" not in fields and fields.get("cpu_policy") == "dedicated":
        processors, pinned = (), processors
    return NumaCell(
        number=int(fields["id"]),
        processors=processors,
        pinned=pinned,
        memory_mb=int(fields["memory"]),
        cpu_policy=fields.get("cpu_policy"),
        thread_policy=fields.get("cpu_thread_policy"),
        host_processors=tuple(
            sorted(
                {
                    *map(int, (fields.get("cpu_pinning_raw") or {}).values()),
                    *map(int, fields.get("cpuset_reserved") or ()),
                }
            )
        ),
        page_size=_PAGE_SIZES.get(fields.get("pagesize") or 0, fields.get("pagesize")),
    )


def _assigned(kept: Mapping[str, Any]) -> AssignedResource:
    fields = kept["nova_object.data"]
    return AssignedResource(
        str(fields["provider_uuid"]), str(fields["resource_class"]), str(fields["identifier"])
    )


def _elements(text: str, name: str) -> list[Any]:
    """The elements of a JSON list, or of the list with this name in a Nova object."""
    value = msgspec.json.decode(text)
    if isinstance(value, dict):
        value = value["nova_object.data"][name]
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError("it is no list")
    return value


def ports_in(text: str | None, *, holding: bool = False) -> tuple[str, ...] | None:
    """The ports in a network cache, or those with an allocation; None: it is not understood."""
    if not text:
        return ()
    try:
        ports = msgspec.json.decode(text)
        return tuple(
            canonical_uuid(port["id"])
            for port in ports
            if not holding or (port.get("profile") or {}).get("allocation")
        )
    except _UNREADABLE:
        return None
