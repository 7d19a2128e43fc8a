# SPDX-License-Identifier: Apache-2.0
"""Nova's versioned objects, as the JSON that it stores in text columns."""

import json
from collections.abc import Mapping
from typing import Any

from trueup.lab.blueprint import Instance, Move
from trueup.lab.flavors import Flavor

IMAGE_UUID = "f4907e08-f3cb-4075-bdea-b24ecc0f282b"
_FLAVORS_MADE_AT = "2025-01-07T09:00:00Z"


def versioned(name: str, version: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """One object of Nova, as `oslo.versionedobjects` serializes it."""
    return {
        "nova_object.name": name,
        "nova_object.namespace": "nova",
        "nova_object.version": version,
        "nova_object.data": dict(fields),
    }


def flavor(size: Flavor) -> dict[str, Any]:
    """A flavor, with the fields that Nova stores with each instance."""
    fields = {
        "id": size.number,
        "name": size.name,
        "memory_mb": size.memory_mb,
        "vcpus": size.vcpus,
        "root_gb": size.root_gb,
        "ephemeral_gb": size.ephemeral_gb,
        "flavorid": str(size.number),
        "swap": size.swap_mb,
        "rxtx_factor": 1.0,
        "vcpu_weight": 0,
        "disabled": False,
        "is_public": True,
        "extra_specs": {},
        "description": None,
        "created_at": _FLAVORS_MADE_AT,
        "updated_at": None,
        "deleted_at": None,
        "deleted": False,
    }
    return versioned("Flavor", "1.2", fields)


def instance_flavors(present: Flavor, old: Flavor | None) -> str:
    """`instance_extra.flavor`. After a resize, before its confirmation, `cur` is the new flavor."""
    kept = {
        "cur": flavor(present),
        "old": flavor(old) if old else None,
        "new": flavor(present) if old else None,
    }
    return json.dumps(kept)


def no_key_pairs() -> str:
    """`instance_extra.keypairs` of an instance without any."""
    return json.dumps(versioned("KeyPairList", "1.3", {"objects": []}))


def migration_context(move: Move) -> str:
    """`instance_extra.migration_context` while a resize waits for its confirmation."""
    no_devices = versioned("PciDeviceList", "1.3", {"objects": []})
    no_requests = _pci_requests(move.instance.uuid)
    fields: dict[str, Any] = {
        "instance_uuid": move.instance.uuid,
        "migration_id": move.number,
        "new_numa_topology": None,
        "old_numa_topology": None,
        "new_pci_devices": no_devices,
        "old_pci_devices": no_devices,
        "new_pci_requests": no_requests,
        "old_pci_requests": no_requests,
        "new_resources": None,
        "old_resources": None,
    }
    return json.dumps(versioned("MigrationContext", "1.2", fields))


def request_spec(instance: Instance) -> str:
    """`request_specs.spec`: the scheduler's request, and whether a volume is the root disk."""
    fields: dict[str, Any] = {
        "image": _image(instance),
        "numa_topology": None,
        "pci_requests": _pci_requests(instance.uuid),
        "project_id": instance.tenant.project_id,
        "user_id": instance.tenant.user_id,
        "availability_zone": None,
        "flavor": flavor(instance.flavor),
        "num_instances": 1,
        "ignore_hosts": None,
        "force_hosts": None,
        "force_nodes": None,
        "requested_destination": None,
        "retry": None,
        "instance_group": None,
        "scheduler_hints": {},
        "instance_uuid": instance.uuid,
        "is_bfv": instance.volume_backed,
        "requested_resources": [],
    }
    return json.dumps(versioned("RequestSpec", "1.15", fields))


def booting_instance(instance: Instance) -> str:
    """`build_requests.instance`: the server before any cell has it."""
    fields = {
        "uuid": instance.uuid,
        "display_name": instance.name,
        "project_id": instance.tenant.project_id,
        "user_id": instance.tenant.user_id,
        "vm_state": "building",
        "task_state": "scheduling",
        "host": None,
        "node": None,
        "flavor": flavor(instance.flavor),
    }
    return json.dumps(versioned("Instance", "2.8", fields))


def no_block_devices() -> str:
    """`build_requests.block_device_mappings` of a boot without a volume."""
    return json.dumps(versioned("BlockDeviceMappingList", "1.18", {"objects": []}))


def no_pci_pools() -> str:
    """`compute_nodes.pci_stats` of a host without PCI passthrough."""
    return json.dumps(versioned("PciDevicePoolList", "1.1", {"objects": []}))


def _pci_requests(instance_uuid: str) -> dict[str, Any]:
    return versioned("InstancePCIRequests", "1.1", {"instance_uuid": instance_uuid, "requests": []})


def _image(instance: Instance) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "min_ram": 0,
        "min_disk": 0,
        "properties": versioned("ImageMetaProps", "1.44", {}),
    }
    if not instance.volume_backed:
        fields |= {
            "id": IMAGE_UUID,
            "name": "lab",
            "status": "active",
            "container_format": "bare",
            "disk_format": "qcow2",
        }
    return versioned("ImageMeta", "1.8", fields)
