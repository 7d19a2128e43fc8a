# SPDX-License-Identifier: Apache-2.0
"""Nova's databases for a cloud of `bench.cloud`: one instance for each consumer, in cells.

The tables are those of a real Nova (a recorded cloud of tests/clouds, emptied). The server makes
every row from Placement's rows, so a hundred thousand instances take seconds.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import os_resource_classes
import sqlalchemy
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from tests.clouds.loading import load
from tests.servers.databases import DatabaseServer

RECORDED = "healthy"
# The image properties that a current Nova stores for each instance.
_PROPERTIES = (
    "image_min_ram", "image_min_disk", "image_disk_format", "image_container_format",
    "image_base_image_ref", "image_hw_machine_type", "image_hw_disk_bus", "image_hw_video_model",
    "owner_user_name", "owner_project_name", "boot_roles",
)  # fmt: skip
_NETWORK_BYTES = 2000
_REQUEST_SPEC_BYTES = 3000
_FLAVORS = 40
# Resource classes, whose ids are their places among the standard ones, by column.
_COLUMNS = {"VCPU": "vcpus", "MEMORY_MB": "memory_mb", "DISK_GB": "disk_gb"}
_FLAVOR = (
    """CONCAT('{"cur": {"nova_object.name": "Flavor", "nova_object.namespace": "nova", """
    """"nova_object.version": "1.2", "nova_object.data": {"id": ', MOD(c.id, {flavors}), """
    """', "name": "m', MOD(c.id, {flavors}), '", "vcpus": ', h.vcpus, ', "memory_mb": ', """
    """h.memory_mb, ', "root_gb": ', h.disk_gb, ', "ephemeral_gb": 0, "swap": 0, """
    """"extra_specs": {"hw_rng:allowed": "True"}, """
    """"description": "', REPEAT('x', 300), '"}}, "old": null, "new": null}')"""
)


@dataclass(frozen=True, slots=True)
class NovaUrls:
    """The URLs of Nova's API database, whose mappings name the cells, and of Placement's."""

    api: str
    placement: str


def fill(server: DatabaseServer, placement_url: str, cells: int, instances: int) -> NovaUrls:
    """Create Nova's databases for the consumers of a Placement database on the same server."""
    api = load(RECORDED, "nova_api", server)
    urls = [load(RECORDED, "nova_cell1", server) for _ in range(cells)]
    engine = sqlalchemy.create_engine(api, poolclass=NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("SET foreign_key_checks = 0, unique_checks = 0")
        for statement in _without_more(_name(placement_url), instances):
            connection.exec_driver_sql(statement)
        for statement in _api_statements(_name(api), _name(placement_url), urls, instances):
            connection.exec_driver_sql(statement)
        for number, url in enumerate(urls):
            place = _Place(_name(url), _name(placement_url), number, cells, instances)
            for statement in _cell_statements(place):
                connection.exec_driver_sql(statement)
    return NovaUrls(api, placement_url)


@dataclass(frozen=True, slots=True)
class _Place:
    """Cell `number` of `cells`, with an equal share of the hosts."""

    database: str
    placement: str
    number: int
    cells: int
    instances: int

    @property
    def hosts(self) -> str:
        return (
            f"(SELECT * FROM {self.placement}.resource_providers "
            f"WHERE parent_provider_id IS NULL AND MOD(id, {self.cells}) = {self.number}) p"
        )

    @property
    def held(self) -> str:
        """What each consumer `c` holds, as `h`: its flavor requests that."""
        amounts = ", ".join(
            f"SUM(IF(resource_class_id = {os_resource_classes.STANDARDS.index(name)}, used, 0)) "
            f"AS {column}"
            for name, column in _COLUMNS.items()
        )
        rows = f"{self.placement}.allocations GROUP BY consumer_id"
        return f"JOIN (SELECT consumer_id, {amounts} FROM {rows}) h ON h.consumer_id = c.uuid"

    @property
    def owner(self) -> str:
        """The project and the user of consumer `c`."""
        return f"{_owner('projects', self.placement)}, {_owner('users', self.placement)}"

    @property
    def servers(self) -> str:
        """Consumers as instances, each with the host that it holds something of."""
        return (
            f"{self.placement}.consumers c JOIN (SELECT consumer_id, MIN(resource_provider_id) "
            f"AS host_id FROM {self.placement}.allocations GROUP BY consumer_id) a "
            f"ON a.consumer_id = c.uuid JOIN {self.hosts} ON p.id = a.host_id "
            f"WHERE c.id <= {self.instances}"
        )


def _without_more(placement: str, instances: int) -> Iterator[str]:
    """Delete consumers without an instance: each would be looked up by UUID, which takes longer."""
    yield (
        f"DELETE a FROM {placement}.allocations a JOIN {placement}.consumers c "
        f"ON c.uuid = a.consumer_id WHERE c.id > {instances}"
    )
    yield f"DELETE FROM {placement}.consumers WHERE id > {instances}"


def _cell_statements(place: _Place) -> Iterator[str]:
    cell, now = place.database, "'2026-11-20 12:00:00'"
    for table in (
        "instances", "instance_extra", "instance_info_caches", "instance_system_metadata",
        "block_device_mapping", "migrations", "compute_nodes", "services",
    ):  # fmt: skip
        yield f"DELETE FROM {cell}.{table}"
    yield (
        f"INSERT INTO {cell}.compute_nodes (id, uuid, host, hypervisor_hostname, deleted, vcpus, "
        "memory_mb, local_gb, vcpus_used, memory_mb_used, local_gb_used, hypervisor_type, "
        "hypervisor_version, cpu_info, updated_at) SELECT id, uuid, name, name, 0, 96, 262144, "
        f"6000, 0, 0, 0, 'QEMU', 8002002, REPEAT('x', 800), {now} FROM {place.hosts}"
    )
    yield (
        f"INSERT INTO {cell}.services (id, uuid, host, `binary`, topic, report_count, disabled, "
        "deleted, forced_down, version, last_seen_up) SELECT id, UUID(), name, 'nova-compute', "
        f"'compute', 1, 0, 0, 0, 70, {now} FROM {place.hosts}"
    )
    yield (
        f"INSERT INTO {cell}.instances (id, uuid, display_name, project_id, user_id, host, node, "
        "vm_state, power_state, deleted, hidden, image_ref, created_at, updated_at) "
        f"SELECT c.id, c.uuid, CONCAT('server-', c.id), {place.owner}, p.name, "
        f"p.name, 'active', 1, 0, 0, UUID(), {now}, {now} FROM {place.servers}"
    )
    made = f"FROM {cell}.instances c"
    flavor = _FLAVOR.replace("{flavors}", str(_FLAVORS))
    yield (
        f"INSERT INTO {cell}.instance_extra (id, instance_uuid, deleted, pci_requests, flavor, "
        f"keypairs) SELECT c.id, c.uuid, 0, '[]', {flavor}, REPEAT('k', 160) {made} {place.held}"
    )
    yield (
        f"INSERT INTO {cell}.instance_info_caches (id, instance_uuid, deleted, network_info) "
        f"SELECT c.id, c.uuid, 0, REPEAT('n', {_NETWORK_BYTES}) {made}"
    )
    for name in _PROPERTIES:
        yield (
            f"INSERT INTO {cell}.instance_system_metadata (instance_uuid, `key`, value, deleted) "
            f"SELECT c.uuid, '{name}', 'a value', 0 {made}"
        )
    yield (
        f"INSERT INTO {cell}.block_device_mapping (instance_uuid, deleted, boot_index, "
        "source_type, destination_type, connection_info) SELECT c.uuid, 0, 0, 'image', 'local', "
        f"REPEAT('d', 300) {made}"
    )
    yield (
        f"INSERT INTO {cell}.migrations (uuid, instance_uuid, migration_type, status, "
        "source_compute, source_node, dest_compute, dest_node, deleted, created_at, updated_at) "
        "SELECT UUID(), c.uuid, 'live-migration', 'completed', c.host, c.node, c.host, c.node, 0, "
        f"{now}, {now} {made} WHERE MOD(c.id, 4) = 0"
    )


def _api_statements(
    api: str, placement: str, cell_urls: list[str], instances: int
) -> Iterator[str]:
    cells = len(cell_urls)
    for table in ("instance_mappings", "request_specs", "host_mappings", "cell_mappings"):
        yield f"DELETE FROM {api}.{table}"
    for number, url in enumerate(cell_urls):
        yield (
            f"INSERT INTO {api}.cell_mappings (id, uuid, name, transport_url, "
            f"database_connection, disabled) VALUES ({number + 1}, UUID(), 'cell{number + 1}', "
            f"'none:///', '{url}', 0)"
        )
    yield (
        f"INSERT INTO {api}.host_mappings (cell_id, host) SELECT MOD(id, {cells}) + 1, name "
        f"FROM {placement}.resource_providers WHERE parent_provider_id IS NULL"
    )
    servers = f"FROM {placement}.consumers c WHERE c.id <= {instances}"
    yield (
        f"INSERT INTO {api}.instance_mappings (instance_uuid, cell_id, project_id, "
        f"queued_for_delete) SELECT c.uuid, MOD(a.host_id, {cells}) + 1, "
        f"{_owner('projects', placement)}, 0 "
        f"FROM {placement}.consumers c JOIN (SELECT consumer_id, MIN(resource_provider_id) AS "
        f"host_id FROM {placement}.allocations GROUP BY consumer_id) a ON a.consumer_id = c.uuid "
        f"WHERE c.id <= {instances}"
    )
    yield (
        f"INSERT INTO {api}.request_specs (instance_uuid, spec) "
        f"SELECT c.uuid, REPEAT('s', {_REQUEST_SPEC_BYTES}) {servers}"
    )


def _owner(table: str, placement: str) -> str:
    """The project or user that Placement has for consumer `c`: Nova has the same."""
    return f"(SELECT external_id FROM {placement}.{table} WHERE id = c.{table[:-1]}_id)"


def _name(url: str) -> str:
    return str(make_url(url).database)
