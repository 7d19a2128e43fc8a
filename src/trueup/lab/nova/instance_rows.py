# SPDX-License-Identifier: Apache-2.0
"""The rows of one cell that belong to instances, as Nova writes them for each state."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

from trueup.lab.blueprint import Blueprint, Cell, Host, Instance, LifecycleState, Move
from trueup.lab.nova import cell_tables as tables
from trueup.lab.nova import objects
from trueup.lab.nova.databases import Rows

_NO_POWER, _RUNNING, _SHUT_DOWN = 0, 1, 4


@dataclass(frozen=True, slots=True)
class _StateColumns:
    """The columns of `instances` that express a state."""

    vm_state: str
    power_state: int
    task_state: str | None = None


_STATES = {
    LifecycleState.ACTIVE: _StateColumns("active", _RUNNING),
    LifecycleState.STOPPED: _StateColumns("stopped", _SHUT_DOWN),
    LifecycleState.SOFT_DELETED: _StateColumns("soft-delete", _SHUT_DOWN),
    LifecycleState.RESIZED: _StateColumns("resized", _RUNNING),
    LifecycleState.MIGRATING: _StateColumns("active", _RUNNING, "migrating"),
    LifecycleState.SHELVED: _StateColumns("shelved_offloaded", _SHUT_DOWN),
    LifecycleState.FAILED: _StateColumns("error", _NO_POWER),
    LifecycleState.DELETED: _StateColumns("deleted", _NO_POWER),
    LifecycleState.ARCHIVED: _StateColumns("deleted", _NO_POWER),
}
_DEAD = frozenset({LifecycleState.DELETED, LifecycleState.ARCHIVED})


def instance_rows(blueprint: Blueprint, cell: Cell) -> Rows:
    """Rows of `instances`, and of the tables that refer to them."""
    mine = [instance for instance in blueprint.instances if instance.cell == cell]
    present = [instance for instance in mine if instance.state is not LifecycleState.ARCHIVED]
    resizes = {move.instance.uuid: move for move in blueprint.open_moves if move.kind == "resize"}
    on_target = {uuid: move.source for uuid, move in resizes.items()}
    return {
        tables.INSTANCES: [
            _instance(instance, on_target.get(instance.uuid)) for instance in present
        ],
        tables.SHADOW_INSTANCES: [
            _instance(instance, None)
            for instance in mine
            if instance.state is LifecycleState.ARCHIVED
        ],
        tables.INSTANCE_EXTRA: [
            _extra(instance, resizes.get(instance.uuid)) for instance in present
        ],
        tables.INSTANCE_INFO_CACHES: [
            _times(instance)
            | {"id": instance.number, "instance_uuid": instance.uuid, "network_info": "[]"}
            for instance in present
        ],
        tables.INSTANCE_SYSTEM_METADATA: [
            _times(instance) | {"instance_uuid": instance.uuid, "key": key, "value": value}
            for instance in present
            for key, value in _system_metadata(instance, blueprint.hosts).items()
        ],
        tables.BLOCK_DEVICE_MAPPING: [
            device for instance in present for device in _block_devices(instance)
        ],
    }


def _times(instance: Instance) -> dict[str, Any]:
    """Times of the row, and its soft deletion: `deleted` is the row's id if it is deleted."""
    dead = instance.state in _DEAD
    return {
        "created_at": instance.created_at,
        "updated_at": instance.updated_at,
        "deleted_at": instance.updated_at if dead else None,
        "deleted": instance.number if dead else 0,
    }


def _instance(instance: Instance, launched_on: Host | None) -> dict[str, Any]:
    flavor, host, state = instance.flavor, instance.host, _STATES[instance.state]
    dead = instance.state in _DEAD
    first_host = launched_on or host
    return {
        **_times(instance),
        # A SOFT_DELETED instance has `deleted_at`, but `deleted` is 0: it keeps its allocation.
        "deleted_at": _deleted_at(instance),
        "id": instance.number,
        "user_id": instance.tenant.user_id,
        "project_id": instance.tenant.project_id,
        "image_ref": "" if instance.volume_backed else objects.IMAGE_UUID,
        "kernel_id": "",
        "ramdisk_id": "",
        "launch_index": 0,
        "power_state": state.power_state,
        "vm_state": state.vm_state,
        "task_state": state.task_state,
        "memory_mb": flavor.memory_mb,
        "vcpus": flavor.vcpus,
        "root_gb": flavor.root_gb,
        "ephemeral_gb": flavor.ephemeral_gb,
        "instance_type_id": flavor.number,
        "hostname": instance.name,
        "display_name": instance.name,
        "host": host.name if host else None,
        "node": host.node if host else None,
        "compute_id": host.number if host else None,
        "launched_on": first_host.name if first_host else None,
        "reservation_id": f"r-{instance.uuid[:8]}",
        "launched_at": _launched_at(instance),
        "terminated_at": instance.updated_at if dead else None,
        "availability_zone": "nova" if host else None,
        "locked": False,
        "uuid": instance.uuid,
        "root_device_name": "/dev/vda",
        "config_drive": "",
        "progress": 0,
        "auto_disk_config": False,
        "shutdown_terminate": False,
        "disable_terminate": False,
        "cleaned": 1 if dead else 0,
        "hidden": False,
    }


def _deleted_at(instance: Instance) -> datetime | None:
    gone = instance.state in _DEAD or instance.state is LifecycleState.SOFT_DELETED
    return instance.updated_at if gone else None


def _launched_at(instance: Instance) -> datetime | None:
    if instance.state is LifecycleState.FAILED:
        return None
    if instance.state is LifecycleState.RESIZED:
        return instance.updated_at
    return instance.created_at + timedelta(seconds=20)


def _extra(instance: Instance, resize: Move | None) -> dict[str, Any]:
    return _times(instance) | {
        "id": instance.number,
        "instance_uuid": instance.uuid,
        "pci_requests": "[]",
        "flavor": objects.instance_flavors(instance.flavor, resize.old_flavor if resize else None),
        "migration_context": objects.migration_context(resize) if resize else None,
        "keypairs": objects.no_key_pairs(),
    }


def _system_metadata(instance: Instance, hosts: tuple[Host, ...]) -> Mapping[str, str]:
    kept = {
        "image_min_ram": "0",
        "image_min_disk": "1",
        "image_disk_format": "qcow2",
        "image_container_format": "bare",
        "image_base_image_ref": "" if instance.volume_backed else objects.IMAGE_UUID,
        "owner_user_name": "lab",
        "owner_project_name": "lab",
        "boot_roles": "reader,member",
    }
    if instance.state is LifecycleState.RESIZED:
        kept["old_vm_state"] = "active"
    if instance.state is LifecycleState.SHELVED:
        former = next(host for host in hosts if host.cell == instance.cell)
        kept["shelved_at"] = instance.updated_at.isoformat()
        kept["shelved_host"] = former.name
        kept["shelved_image_id"] = _derived(instance, "shelved")
    return kept


def _block_devices(instance: Instance) -> Iterator[dict[str, Any]]:
    yield _block_device(instance, "/dev/vda", _root_disk(instance))
    if instance.flavor.ephemeral_gb:
        yield _block_device(
            instance, "/dev/vdb", _blank_disk(instance.flavor.ephemeral_gb, guest_format=None)
        )
    if instance.flavor.swap_mb:
        yield _block_device(
            instance, "/dev/vdc", _blank_disk(instance.flavor.swap_mb, guest_format="swap")
        )


def _root_disk(instance: Instance) -> dict[str, Any]:
    if instance.volume_backed:
        return {
            "source_type": "volume",
            "destination_type": "volume",
            "volume_id": _derived(instance, "volume"),
            "volume_size": instance.flavor.root_gb,
            "attachment_id": _derived(instance, "attachment"),
            "boot_index": 0,
            "delete_on_termination": False,
            "connection_info": "{}",
        }
    return {
        "source_type": "image",
        "destination_type": "local",
        "image_id": objects.IMAGE_UUID,
        "device_type": "disk",
        "boot_index": 0,
    }


def _blank_disk(size: int, *, guest_format: str | None) -> dict[str, Any]:
    """An ephemeral disk (GiB) or swap (MiB): Nova stores the size of both in `volume_size`."""
    return {
        "source_type": "blank",
        "destination_type": "local",
        "guest_format": guest_format,
        "device_type": "disk",
        "boot_index": -1,
        "volume_size": size,
    }


def _block_device(instance: Instance, device: str, disk: Mapping[str, Any]) -> dict[str, Any]:
    empty = {
        "volume_id": None,
        "volume_size": None,
        "attachment_id": None,
        "connection_info": None,
        "image_id": None,
        "guest_format": None,
        "device_type": None,
        "delete_on_termination": True,
    }
    return {
        **_times(instance),
        **empty,
        "device_name": device,
        "no_device": False,
        "instance_uuid": instance.uuid,
        "uuid": _derived(instance, device),
        "encrypted": False,
        **disk,
    }


def _derived(instance: Instance, purpose: str) -> str:
    """The UUID of something that belongs to this instance; the same in every run."""
    return str(uuid5(NAMESPACE_DNS, f"{purpose}.{instance.uuid}"))
