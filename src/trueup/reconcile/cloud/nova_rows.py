# SPDX-License-Identifier: Apache-2.0
"""Rows of Nova's databases → facts. No SQL and no connection here."""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache

from sqlalchemy import RowMapping

from trueup.reconcile.facts import (
    ComputeNode,
    ComputeService,
    Flavor,
    Instance,
    Migration,
)

Row = RowMapping

# Extra specs that make an instance hold something else than its flavor's plain amounts.
_PECULIAR_SPECS = (
    "resources",
    "hw:mem_encryption",
    "hw:pmem",
    "hw:numa_mempolicy",
    "accel:device_profile",
    "pci_passthrough:alias",
)
_SHARED = (None, "shared")


def instance(row: Row, cell: str, volume_backed: bool, image: Mapping[str, str]) -> Instance:
    """An instance from its joined row, its root device and its image's properties."""
    flavor = parse_flavor(row["flavor"]) if row["flavor"] else None
    return Instance(
        uuid=row["uuid"],
        name=row["display_name"] or "",
        cell=cell,
        project=row["project_id"] or "",
        user=row["user_id"] or "",
        host=row["host"],
        node=row["node"],
        vm_state=row["vm_state"],
        task_state=row["task_state"],
        deleted=row["deleted"] != 0,
        hidden=bool(row["hidden"]),
        updated_at=row["updated_at"],
        deleted_at=row["deleted_at"],
        flavor=flavor,
        volume_backed=volume_backed,
        peculiarities=tuple(_peculiarities(row, flavor, image)),
    )


@lru_cache(maxsize=4096)
def parse_flavor(text: str) -> Flavor | None:
    """The current flavor of `instance_extra.flavor`; None when it cannot be read.

    PERF: cached by text, since a cloud has few flavors and many instances.
    """
    try:
        fields = json.loads(text)["cur"]["nova_object.data"]
        return Flavor(
            name=str(fields["name"]),
            vcpus=int(fields["vcpus"]),
            memory_mb=int(fields["memory_mb"]),
            root_gb=int(fields["root_gb"] or 0),
            ephemeral_gb=int(fields["ephemeral_gb"] or 0),
            swap_mb=int(fields["swap"] or 0),
            extra_specs={str(k): str(v) for k, v in (fields.get("extra_specs") or {}).items()},
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def migration(row: Row, cell: str) -> Migration:
    return Migration(
        uuid=row["uuid"] or "",
        cell=cell,
        instance=row["instance_uuid"] or "",
        kind=row["migration_type"] or "migration",
        status=row["status"] or "of unknown status",
        source_host=row["source_compute"],
        source_node=row["source_node"],
    )


def compute_node(row: Row, cell: str) -> ComputeNode:
    return ComputeNode(
        uuid=row["uuid"] or "",
        cell=cell,
        host=row["host"] or "",
        node=row["hypervisor_hostname"] or "",
    )


def compute_service(row: Row, cell: str) -> ComputeService:
    return ComputeService(
        cell=cell,
        host=row["host"] or "",
        forced_down=bool(row["forced_down"]),
        last_seen=row["last_seen_up"] or row["updated_at"] or row["created_at"],
    )


def _peculiarities(row: Row, flavor: Flavor | None, image: Mapping[str, str]) -> Iterable[str]:
    if flavor is not None:
        for name in sorted(flavor.extra_specs):
            if name.startswith(_PECULIAR_SPECS):
                yield f"flavor {name}"
        if (policy := flavor.extra_specs.get("hw:cpu_policy")) not in _SHARED:
            yield f"flavor hw:cpu_policy={policy}"
    if (policy := image.get("image_hw_cpu_policy")) not in _SHARED:
        yield f"image hw_cpu_policy={policy}"
    if image.get("image_hw_mem_encryption"):
        yield "image hw_mem_encryption"
    if _holds_something(row["pci_requests"]):
        yield "PCI devices"
    if _holds_something(row["vpmems"]):
        yield "persistent memory"
    if _ports_with_allocation(row["network_info"]):
        yield "ports with guaranteed bandwidth"


def _holds_something(text: str | None) -> bool:
    """Whether a JSON list, or a Nova object of one, has an element. What cannot be read counts."""
    if not text:
        return False
    try:
        value = json.loads(text)
        if isinstance(value, dict):
            fields = value["nova_object.data"]
            value = fields.get("requests") or fields.get("objects") or fields.get("vpmems")
        return bool(value)
    except (ValueError, LookupError, TypeError, AttributeError):
        return True


def _ports_with_allocation(text: str | None) -> bool:
    try:
        ports = json.loads(text) if text else []
        return any((port.get("profile") or {}).get("allocation") for port in ports)
    except (ValueError, TypeError, AttributeError):
        return True
