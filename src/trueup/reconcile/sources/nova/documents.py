# SPDX-License-Identifier: Apache-2.0
"""Documents of Nova's API → facts. No requests here."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from trueup.reconcile.facts import (
    INSTANCE_MAPPINGS,
    OLD_FLAVORS,
    ComputeNode,
    ComputeService,
    Flavor,
    HostAggregate,
    Instance,
    Migration,
    ServerGroup,
    Unsupported,
)

Document = Mapping[str, Any]

# The status of a server or service whose cell does not answer.
UNKNOWN = "UNKNOWN"
_DELETED = ("DELETED", "deleted")
# What only the databases have.
NOT_SHOWN = tuple(
    Unsupported(what, "Nova's API does not have it")
    for what in (
        "archived rows",
        "build requests",
        OLD_FLAVORS,
        "hidden instances",
        "host mappings",
        INSTANCE_MAPPINGS,
        "migrations of deleted instances",
        "NUMA topologies",
        "PCI devices",
        "request specs",
        "second rows of an instance in another cell",
    )
)


def instance(row: Document, cell: str) -> Instance:
    """A server. Raises LookupError, TypeError or ValueError if the document is not complete.

    The API does not show what the ports of a server hold, which PCI devices it has, and the
    flavors of a resize. So `ports_hold` is set, and PCI requests count as unread if the flavor has
    an alias.
    """
    flavor = _flavor(row.get("flavor") or {})
    state = row["OS-EXT-STS:vm_state"]
    alias = flavor is None or "pci_passthrough:alias" in flavor.extra_specs
    image = row.get("image") or {}
    return Instance(
        uuid=row["id"],
        name=row["name"] or "",
        cell=cell,
        project=row["tenant_id"] or "",
        user=row["user_id"] or "",
        host=row["OS-EXT-SRV-ATTR:host"] or None,
        node=row["OS-EXT-SRV-ATTR:hypervisor_hostname"] or None,
        vm_state=state,
        task_state=row["OS-EXT-STS:task_state"],
        deleted=row["status"] in _DELETED or state in _DELETED,
        hidden=False,
        updated_at=moment(row.get("updated")),
        deleted_at=moment(row.get("OS-SRV-USG:terminated_at")),
        flavor=flavor,
        volume_backed=_volume_backed(row, image),
        created_at=moment(row.get("created")),
        power_state=row.get("OS-EXT-STS:power_state"),
        image=image.get("id"),
        image_properties=_image_properties(image),
        pci_requests=None if alias else (),
        ports_hold=True,
    )


def addresses(row: Document) -> tuple[str, ...]:
    """The MAC addresses of a server's ports, as far as these have an IP address."""
    every = (port for ports in row["addresses"].values() for port in ports)
    return tuple(sorted({port["OS-EXT-IPS-MAC:mac_addr"].lower() for port in every}))


def server_group(row: Document) -> ServerGroup:
    """A server group. Before 2.64 it has a list of policies, and no rules."""
    policies = [row["policy"]] if "policy" in row else row["policies"]
    rules = row.get("rules") or {}
    return ServerGroup(
        uuid=row["id"],
        policy=policies[0] if policies else "",
        members=frozenset(row["members"]),
        max_per_host=int(rules.get("max_server_per_host", 1)),
    )


def migration(row: Document, cell: str) -> Migration:
    return Migration(
        uuid=row["uuid"] or "",
        cell=cell,
        instance=row["instance_uuid"] or "",
        kind=row["migration_type"] or "migration",
        status=row["status"] or "of unknown status",
        source_host=row["source_compute"],
        source_node=row["source_node"],
        target_host=row["dest_compute"],
        target_node=row["dest_node"],
        created_at=moment(row.get("created_at")),
        updated_at=moment(row.get("updated_at")),
    )


def compute_node(row: Document, cell: str) -> ComputeNode:
    return ComputeNode(
        uuid=row["id"] or "",
        cell=cell,
        host=row["service"]["host"] or "",
        node=row["hypervisor_hostname"] or "",
        hypervisor=row.get("hypervisor_type") or "",
        address=row.get("host_ip") or "",
    )


def compute_service(row: Document, cell: str) -> ComputeService:
    return ComputeService(
        cell=cell,
        host=row["host"] or "",
        forced_down=bool(row["forced_down"]),
        last_seen=moment(row["updated_at"]),
        uuid=row["id"] or "",
        disabled=row["status"] == "disabled",
        disabled_reason=row.get("disabled_reason") or "",
        state=row.get("state"),
    )


def host_aggregate(row: Document) -> HostAggregate:
    return HostAggregate(
        uuid=row["uuid"] or "",
        name=row["name"] or "",
        hosts=tuple(host or "" for host in row["hosts"]),
        metadata=dict(row["metadata"]),
    )


def moment(text: str | None) -> datetime | None:
    """A time in the format of Nova's API, as UTC without a zone."""
    if not text:
        return None
    found = datetime.fromisoformat(text)
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found


def _flavor(row: Document) -> Flavor | None:
    """The flavor inside a server; None if a policy hides its extra specs."""
    if "extra_specs" not in row:
        return None
    return Flavor(
        name=row["original_name"],
        vcpus=int(row["vcpus"]),
        memory_mb=int(row["ram"]),
        root_gb=int(row["disk"]),
        ephemeral_gb=int(row["ephemeral"]),
        swap_mb=int(row["swap"]),
        extra_specs=row["extra_specs"],
    )


def _volume_backed(row: Document, image: Document) -> bool | None:
    """Whether the root disk is a volume; None if that is not shown.

    Nova keeps the image of a server that started from a volume if the image is a snapshot of one,
    or if the request named both. The API shows which volumes are attached, but not as what.
    """
    if not image:
        return True
    attached = row.get("os-extended-volumes:volumes_attached")
    return False if attached == [] else None


def _image_properties(image: Document) -> Mapping[str, str] | None:
    """The image properties; None before 2.98, and for servers that started from a volume."""
    properties = image.get("properties")
    return None if properties is None else {name: str(value) for name, value in properties.items()}
