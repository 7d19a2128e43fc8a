# SPDX-License-Identifier: Apache-2.0
"""Instances in Nova, and the resources that were requested for them.

Times are naive UTC, as Nova keeps them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec


@dataclass(frozen=True, slots=True)
class Flavor:
    """The flavor an instance has; `swap_mb` in MiB, disks in GiB."""

    name: str
    vcpus: int
    memory_mb: int
    root_gb: int
    ephemeral_gb: int
    swap_mb: int
    # Left out of the hash, since a mapping has none; flavors that differ in it are not equal.
    extra_specs: Mapping[str, str] = field(hash=False)


@dataclass(frozen=True, slots=True)
class PciRequest:
    """One element of `instance_extra.pci_requests`.

    `alias` is None for a port's request, which `requester` then names. `specs` are the alternatives
    of the alias: each a mapping such as `{"vendor_id": "10de", "resource_class": "CUSTOM_GPU"}`.
    """

    request_id: str
    count: int
    alias: str | None = None
    requester: str | None = None
    numa_policy: str | None = None
    specs: tuple[Mapping[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class NumaCell:
    """One virtual NUMA node: `processors` are shared, `pinned` are dedicated; memory in MiB.

    `host_processors` are those of the host that it is pinned to, also for emulator threads.
    `page_size` is in KiB, or `small`, `large` or `any`; None: its memory may be overcommitted.
    """

    number: int
    processors: tuple[int, ...]
    pinned: tuple[int, ...]
    memory_mb: int
    cpu_policy: str | None = None
    thread_policy: str | None = None
    host_processors: tuple[int, ...] = ()
    page_size: int | str | None = None


@dataclass(frozen=True, slots=True)
class NumaTopology:
    """`instance_extra.numa_topology`; `cells` is None if it cannot be understood."""

    cells: tuple[NumaCell, ...] | None
    emulator_threads_policy: str | None = None


@dataclass(frozen=True, slots=True)
class AssignedResource:
    """One element of `instance_extra.resources`: a persistent memory namespace it was given."""

    provider: str
    resource_class: str
    identifier: str


@dataclass(frozen=True, slots=True)
class Instance:
    """A row of a cell's `instances`, alive or deleted.

    `flavor` is None if it was not read (deleted instances) or cannot be understood; `old_flavor`
    and `new_flavor` are set during a resize. `image_properties` have no prefix `image_`; they are
    None if the source does not give them. `archived` says that the row is in `shadow_instances`,
    `deleted_by_hand` that its `deleted` is not its id: Nova does not list such a row as deleted.
    `pci_requests` is None if they cannot be understood. `volume_backed` is None if the source does
    not show whether the root disk is a volume, or contradicts itself. `ports_hold` says that a port
    of the instance may hold resources: Nova's network cache says so, or cannot be understood.
    `ports_holding` are the ports that hold resources according to that cache; also those that may,
    because Neutron does not list them. Over Nova's API these have MAC addresses in place of ids.
    """

    uuid: str
    name: str
    cell: str
    project: str
    user: str
    host: str | None
    node: str | None
    vm_state: str | None
    task_state: str | None
    deleted: bool
    hidden: bool
    updated_at: datetime | None
    deleted_at: datetime | None = None
    flavor: Flavor | None = None
    volume_backed: bool | None = False
    created_at: datetime | None = None
    power_state: int | None = None
    image: str | None = None
    image_properties: Mapping[str, str] | None = field(default_factory=dict)
    old_flavor: Flavor | None = None
    new_flavor: Flavor | None = None
    numa_topology: NumaTopology | None = None
    pci_requests: tuple[PciRequest, ...] | None = ()
    assigned_resources: tuple[AssignedResource, ...] = ()
    archived: bool = False
    ports_hold: bool = False
    ports_holding: tuple[str, ...] = ()
    deleted_by_hand: bool = False

    @property
    def soft_deleted(self) -> bool:
        """Whether its owner may still restore it: it keeps what it holds."""
        return not self.deleted and self.vm_state == "soft-delete"


@dataclass(frozen=True, slots=True)
class InstanceMapping:
    """A row of `instance_mappings`; `cell` is a cell's uuid, None before one is chosen.

    `changed_at` is read only of mappings that name no cell.
    """

    instance: str
    cell: str | None
    project: str
    queued_for_delete: bool
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RequestSpec:
    """The basis of the scheduler's next claim for an instance: a row of `request_specs`.

    It is a copy in another database. After a failed resize, or if one of the two databases was
    restored, the next claim uses another flavor. A field is None if it cannot be read.

    Other parts are left out. Image, NUMA topology and PCI requests are copies as well, and no drift
    of theirs is known. Zone, hints, group and forced hosts limit the destination, not the claim.
    Nova does not store the requested destination, networks and resources of ports.
    """

    instance: str
    flavor: Flavor | None = None
    volume_backed: bool | None = None


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """A row of `build_requests`: an instance that has not reached its cell yet."""

    instance: str
    project: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class BlockDevice:
    """A row of `block_device_mapping` that is not deleted; `size_gb` in GiB.

    Root devices and volumes only. Swap and ephemeral disks are claimed with the flavor's sizes;
    their rows may be smaller.
    """

    instance: str
    cell: str
    boot_index: int | None
    source: str
    destination: str
    guest_format: str | None = None
    volume: str | None = None
    size_gb: int | None = None


class InstanceState(msgspec.Struct, frozen=True, tag="instance"):
    """Guard: an instance has the same host and the same state as before.

    Without `updated_at` the time is not compared, as in an undo, which may come long after.
    """

    cell: str
    uuid: str
    host: str | None
    node: str | None
    vm_state: str | None
    task_state: str | None
    deleted: bool
    moving: bool
    updated_at: datetime | None


def instance_state(instance: Instance, moving: bool) -> InstanceState:
    """The guard that an instance stays as it was read."""
    return InstanceState(
        cell=instance.cell,
        uuid=instance.uuid,
        host=instance.host,
        node=instance.node,
        vm_state=instance.vm_state,
        task_state=instance.task_state,
        deleted=instance.deleted,
        moving=moving,
        updated_at=instance.updated_at,
    )
