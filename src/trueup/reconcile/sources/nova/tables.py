# SPDX-License-Identifier: Apache-2.0
"""The columns of Nova's databases that are read, and which of them not every release has.

The columns have no types: each value is checked when its row is read, so that one broken value
does not affect other rows. Columns with long, repeated values have the type Alike.
"""

from typing import Any

from sqlalchemy import ColumnClause, TableClause, column, table

from trueup.reconcile.sources.database import Alike


def _table(name: str, *columns: str | ColumnClause[Any]) -> TableClause:
    return table(name, *(column(given) if isinstance(given, str) else given for given in columns))


cell_mappings = _table("cell_mappings", "id", "uuid", "name", "database_connection", "disabled")
build_requests = _table("build_requests", "id", "instance_uuid", "project_id", "created_at")
host_mappings = _table("host_mappings", "id", "cell_id", "host")
instance_mappings = _table(
    "instance_mappings", "id", "instance_uuid", "cell_id", "project_id", "queued_for_delete",
    "created_at", "updated_at",
)  # fmt: skip
request_specs = _table("request_specs", "id", "instance_uuid")
request_spec_texts = _table("request_specs", "id", "instance_uuid", "spec")
aggregates = _table("aggregates", "id", "uuid", "name")
aggregate_hosts = _table("aggregate_hosts", "id", "aggregate_id", "host")
aggregate_metadata = _table("aggregate_metadata", "id", "aggregate_id", "key", "value")
# Read only where capacity is counted, or a flavor is named.
flavors = _table(
    "flavors", "id", "name", "flavorid", "vcpus", "memory_mb", "root_gb", "ephemeral_gb", "swap",
    "disabled",
)  # fmt: skip
flavor_extra_specs = _table("flavor_extra_specs", "id", "flavor_id", "key", "value")
# Read only for a server that is to be scheduled.
instance_groups = _table("instance_groups", "id", "uuid")
instance_group_member = _table("instance_group_member", "id", "group_id", "instance_uuid")
instance_group_policy = _table("instance_group_policy", "id", "group_id", "policy", "rules")

_INSTANCE = (
    "id", "uuid", "display_name", "project_id", "user_id", "host", "node", "vm_state",
    "task_state", "power_state", "deleted", "hidden", "image_ref", "created_at", "updated_at",
    "deleted_at",
)  # fmt: skip
instances = _table("instances", *_INSTANCE)
shadow_instances = _table("shadow_instances", *_INSTANCE)
instance_extra = _table(
    "instance_extra", "id", "instance_uuid", column("flavor", Alike), "pci_requests",
    "numa_topology", "resources",
)  # fmt: skip
info_caches = _table("instance_info_caches", "id", "instance_uuid", "network_info")
system_metadata = _table(
    "instance_system_metadata", "id", "instance_uuid", "key", "value", "deleted"
)
devices = _table(
    "block_device_mapping", "id", "instance_uuid", "deleted", "boot_index", "source_type",
    "destination_type", "guest_format", "volume_id", "volume_size",
)  # fmt: skip
_MIGRATION = (
    "id", "uuid", "instance_uuid", "migration_type", "status", "source_compute", "source_node",
    "dest_compute", "dest_node", "created_at", "updated_at", "cross_cell_move", "deleted",
)  # fmt: skip
migrations = _table("migrations", *_MIGRATION)
shadow_migrations = _table("shadow_migrations", *_MIGRATION)
compute_nodes = _table(
    "compute_nodes", "id", "uuid", "host", "hypervisor_hostname", "hypervisor_type", "deleted",
    "updated_at", "created_at", "host_ip", "numa_topology",
)  # fmt: skip
# The hardware of hosts; read only if Placement's database is lost.
hardware = _table(
    "compute_nodes", "id", "uuid", "deleted", "vcpus", "memory_mb", "local_gb",
    "cpu_allocation_ratio", "ram_allocation_ratio", "disk_allocation_ratio",
)  # fmt: skip
# What the scheduler compares; read only for a server that is to be scheduled.
scheduler_nodes = _table(
    "compute_nodes", "id", "uuid", "host", "hypervisor_hostname", "host_ip", "hypervisor_type",
    "hypervisor_version", "vcpus", "memory_mb", "local_gb", "vcpus_used", "local_gb_used",
    "free_ram_mb", "free_disk_gb", "disk_available_least", "cpu_allocation_ratio",
    "ram_allocation_ratio", "disk_allocation_ratio", "cpu_info", "supported_instances", "stats",
    "created_at", "deleted",
)  # fmt: skip
# PERF: only some requests need these two; they are as large as all others together.
scheduler_hardware = _table("compute_nodes", "id", "uuid", "deleted", "numa_topology", "pci_stats")
departed_nodes = _table("compute_nodes", "id", "deleted", "deleted_at")
instance_faults = _table("instance_faults", "id", "instance_uuid", "message", "created_at")
services = _table(
    "services", "id", "uuid", "host", "binary", "deleted", "disabled", "disabled_reason",
    "forced_down", "version", "last_seen_up", "updated_at", "created_at",
)  # fmt: skip
pci_devices = _table(
    "pci_devices", "id", "compute_node_id", "address", "vendor_id", "product_id", "dev_type",
    "status", "instance_uuid", "request_id", "numa_node", "parent_addr", "extra_info", "deleted",
)  # fmt: skip

# The columns that not every supported release has. All other columns, and all tables, are in each.
LATER = {
    "instances": ("hidden",),
    "shadow_instances": ("hidden",),
    "instance_extra": ("resources",),
    "instance_group_policy": ("rules",),
    "migrations": ("cross_cell_move",),
    "shadow_migrations": ("cross_cell_move",),
}

# Prefixes of the image properties that affect what an instance holds. PERF: since 2023 Nova stores
# a dozen others for each instance; reading them would double the data of a cell.
IMAGE_PROPERTIES = (
    "image_hw_cpu", "image_hw_emulator", "image_hw_mem", "image_hw_numa", "image_hw_pci",
    "image_trait",
)  # fmt: skip
# Nova writes this property for each instance, also one without an image.
ORIGINAL_IMAGE = "image_base_image_ref"
