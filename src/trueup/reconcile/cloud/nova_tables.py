# SPDX-License-Identifier: Apache-2.0
"""The columns of Nova's databases that we read, and the queries over them. Nothing is written.

Only columns that every supported release has are named; types are given where a driver needs them.
"""

from collections.abc import Sequence

from sqlalchemy import (
    ColumnElement,
    DateTime,
    Select,
    and_,
    column,
    literal_column,
    or_,
    select,
    table,
)

from trueup.reconcile.facts import FINAL_MIGRATION_STATUSES

cell_mappings = table(
    "cell_mappings", column("uuid"), column("name"), column("database_connection"), column("id")
)
build_requests = table("build_requests", column("instance_uuid"))
instances = table(
    "instances",
    column("id"),
    column("uuid"),
    column("display_name"),
    column("project_id"),
    column("user_id"),
    column("host"),
    column("node"),
    column("vm_state"),
    column("task_state"),
    column("deleted"),
    column("hidden"),
    column("image_ref"),
    column("updated_at", DateTime),
    column("deleted_at", DateTime),
)
instance_extra = table(
    "instance_extra",
    column("instance_uuid"),
    column("flavor"),
    column("pci_requests"),
    column("vpmems"),
)
info_caches = table("instance_info_caches", column("instance_uuid"), column("network_info"))
system_metadata = table(
    "instance_system_metadata",
    column("instance_uuid"),
    column("key"),
    column("value"),
    column("deleted"),
)
devices = table(
    "block_device_mapping",
    column("instance_uuid"),
    column("deleted"),
    column("boot_index"),
    column("destination_type"),
)
migrations = table(
    "migrations",
    column("uuid"),
    column("instance_uuid"),
    column("migration_type"),
    column("status"),
    column("source_compute"),
    column("source_node"),
    column("deleted"),
)
compute_nodes = table(
    "compute_nodes",
    column("uuid"),
    column("host"),
    column("hypervisor_hostname"),
    column("deleted"),
)
services = table(
    "services",
    column("host"),
    column("binary"),
    column("deleted"),
    column("forced_down"),
    column("last_seen_up", DateTime),
    column("updated_at", DateTime),
    column("created_at", DateTime),
)

CELLS = select(cell_mappings).order_by(cell_mappings.c.id)
BUILDS = select(build_requests.c.instance_uuid).where(build_requests.c.instance_uuid.is_not(None))
COMPUTE_NODES = select(compute_nodes).where(compute_nodes.c.deleted == 0)
COMPUTE_SERVICES = select(services).where(
    and_(services.c.deleted == 0, services.c.binary == "nova-compute")
)
ROOT_DEVICES = select(devices.c.instance_uuid, devices.c.destination_type).where(
    and_(devices.c.deleted == 0, devices.c.boot_index == 0)
)
# Image properties that change what an instance holds, of instances that are not deleted.
IMAGE_PROPERTIES = select(
    system_metadata.c.instance_uuid, system_metadata.c.key, system_metadata.c.value
).where(
    and_(
        system_metadata.c.deleted == 0,
        system_metadata.c.key.in_(["image_hw_cpu_policy", "image_hw_mem_encryption"]),
    )
)
# What is under way, and evacuations that are over; all else has left nothing that we look for.
MIGRATIONS = select(migrations).where(
    and_(
        migrations.c.deleted == 0,
        or_(
            migrations.c.status.is_(None),
            migrations.c.status.not_in(sorted(FINAL_MIGRATION_STATUSES)),
            and_(
                migrations.c.migration_type == "evacuation",
                migrations.c.status.in_(["done", "completed"]),
            ),
        ),
    )
)

_JOINED = instances.outerjoin(
    instance_extra, instance_extra.c.instance_uuid == instances.c.uuid
).outerjoin(info_caches, info_caches.c.instance_uuid == instances.c.uuid)


def alive_after(row_id: int, count: int) -> Select[tuple[object, ...]]:
    """The next `count` instances that are not deleted, in the order of their ids."""
    return (
        select(
            instances,
            instance_extra.c.flavor,
            instance_extra.c.pci_requests,
            instance_extra.c.vpmems,
            info_caches.c.network_info,
        )
        .select_from(_JOINED)
        .where(and_(instances.c.deleted == 0, instances.c.id > row_id))
        .order_by(instances.c.id)
        .limit(count)
    )


def named(uuids: Sequence[str]) -> Select[tuple[object, ...]]:
    """Instances by uuid, alive or deleted, without what only living ones need."""
    nothing: list[ColumnElement[object]] = [
        literal_column("NULL").label(name)
        for name in ("flavor", "pci_requests", "vpmems", "network_info")
    ]
    return select(instances, *nothing).where(instances.c.uuid.in_(uuids))


def moving(uuid: str) -> Select[tuple[object, ...]]:
    """The migrations under way of one instance."""
    return select(migrations).where(
        and_(
            migrations.c.deleted == 0,
            migrations.c.instance_uuid == uuid,
            or_(
                migrations.c.status.is_(None),
                migrations.c.status.not_in(sorted(FINAL_MIGRATION_STATUSES)),
            ),
        )
    )
