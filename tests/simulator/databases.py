# SPDX-License-Identifier: Apache-2.0
"""Writes a simulated cloud into Nova's tables and a Placement service, for `collect` to read.

It is slow. It proves that `facts_adapter` makes the same facts as `collect`.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import delete

from tests.simulator.cloud import START, Cell, Cloud
from tests.simulator.facts_adapter import extra_specs_of
from tests.simulator.places import CELLS, METAL_CLASS, METAL_NODES, RACK, providers
from tests.simulator.rows import (
    PROJECT,
    USER,
    ClaimRow,
    FlavorRow,
    MigrationRow,
    NodeRow,
    ServerRow,
    uuid_of,
)
from trueup.lab.cloud import trueup_placement
from trueup.lab.nova import api_tables, cell_tables
from trueup.lab.nova.databases import NovaDatabases, Rows, fill, sqlite_url, transaction
from trueup.lab.nova.objects import versioned
from trueup.lab.placement_client import ADMIN_TOKEN, PlacementClient
from trueup.lab.serving import serve

_NUMBERS = {name: number for number, name in enumerate(CELLS, 1)}
_WRITTEN = {"created_at": START, "updated_at": START}
_ALIVE = {**_WRITTEN, "deleted_at": None, "deleted": 0}
_NO_USE = ("vcpus", "memory_mb", "local_gb", "vcpus_used", "memory_mb_used", "local_gb_used")


@dataclass(frozen=True)
class Databases:
    """Nova's databases in a folder, a Placement service, and a nova.conf that names them."""

    nova: NovaDatabases
    placement: PlacementClient
    nova_conf: Path

    def hold(self, cloud: Cloud) -> None:
        """Replace everything by the present content of the simulated databases."""
        _refill(self.nova.api_url, api_tables.API_SCHEMA, _api_rows(cloud, self.nova))
        for name, cell in cloud.cells.items():
            _refill(self.nova.cell_url(name), cell_tables.CELL_SCHEMA, _cell_rows(cell))
        self._reserve(dict.fromkeys(METAL_NODES.values(), 0))
        held = self._consumers()
        for consumer, generation in held.items():
            self.placement.put(
                f"/allocations/{consumer}", _claim(ClaimRow({}, generation), generation)
            )
        for consumer, claim in cloud.ledger.items():
            self.placement.put(f"/allocations/{consumer}", _claim(claim, None))
        self._reserve({node: cloud.providers[node].reserved for node in METAL_NODES.values()})

    def _reserve(self, amounts: Mapping[str, int]) -> None:
        """Reserve so much of each bare metal node; Placement takes no claim on a reserved one."""
        for uuid, reserved in amounts.items():
            url = f"/resource_providers/{uuid}/inventories"
            generation = self.placement.get(url)["resource_provider_generation"]
            stock = {METAL_CLASS: {"total": 1, "reserved": reserved}}
            body = {"resource_provider_generation": generation, "inventories": stock}
            self.placement.put(url, body)

    def _consumers(self) -> dict[str, int]:
        """The generation of every consumer."""
        held: set[str] = set()
        for provider in providers():
            answer = self.placement.get(f"/resource_providers/{provider}/allocations")
            held |= answer["allocations"].keys()
        return {
            uuid: self.placement.get(f"/allocations/{uuid}")["consumer_generation"] for uuid in held
        }


@contextmanager
def databases(folder: Path) -> Iterator[Databases]:
    """Empty databases, and a Placement service with the providers."""
    nova = NovaDatabases(folder)
    nova.create(CELLS)
    application = trueup_placement(sqlite_url(folder / "placement.sqlite"))
    client = PlacementClient(application)
    _add_providers(client)
    conf = folder / "nova.conf"
    with serve(application) as url:
        conf.write_text(
            f"[api_database]\nconnection = {nova.api_url}\n"
            f"[database]\nconnection = {nova.cell_url(CELLS[0])}\n"
            f"[placement]\nauth_type = admin_token\nendpoint = {url}\ntoken = {ADMIN_TOKEN}\n"
        )
        yield Databases(nova, client, conf)


def _refill(url: str, schema: Any, rows: Rows) -> None:
    with transaction(url) as connection:
        for table in reversed(schema.sorted_tables):
            connection.execute(delete(table))
    fill(url, rows)


def _api_rows(cloud: Cloud, nova: NovaDatabases) -> Rows:
    return {
        api_tables.CELL_MAPPINGS: [
            _WRITTEN
            | {
                "id": _NUMBERS[name],
                "uuid": uuid_of(name),
                "name": name,
                "transport_url": "none:///",
                # A folder cannot be opened as a database: the cell is down.
                "database_connection": nova.cell_url(name) if cell.answers else "sqlite:////",
                "disabled": False,
            }
            for name, cell in cloud.cells.items()
        ],
        api_tables.HOST_MAPPINGS: [
            _WRITTEN | {"cell_id": _NUMBERS[cell], "host": host}
            for host, cell in cloud.host_mappings.items()
        ],
        api_tables.INSTANCE_MAPPINGS: [
            {
                "created_at": START,
                "updated_at": row.changed_at,
                "instance_uuid": row.server,
                "cell_id": _NUMBERS[row.cell] if row.cell else None,
                "project_id": PROJECT,
                "user_id": USER,
                "queued_for_delete": row.queued_for_delete,
            }
            for row in cloud.mappings.values()
        ],
        api_tables.AGGREGATES: [_WRITTEN | {"id": 1, "uuid": RACK.uuid, "name": RACK.name}],
        api_tables.AGGREGATE_HOSTS: [
            _WRITTEN | {"host": host, "aggregate_id": 1} for host in sorted(RACK.hosts)
        ],
        api_tables.BUILD_REQUESTS: [
            _WRITTEN | {"project_id": PROJECT, "instance_uuid": uuid, "instance": "{}"}
            for uuid in cloud.builds
        ],
    }


def _cell_rows(cell: Cell) -> Rows:
    rows = cell.replica or cell.copy()
    numbered = list(enumerate(rows.servers.values(), 1000))
    present = [(number, row) for number, row in numbered if not row.archived]
    moves = rows.migrations.values()
    return {
        cell_tables.SERVICES: [
            _ALIVE
            | {
                "host": row.host,
                "binary": "nova-compute",
                "topic": "compute",
                "report_count": 1,
                "disabled": row.disabled,
                "last_seen_up": row.last_seen,
                "forced_down": row.forced_down,
                "version": 74,
                "uuid": uuid_of(f"service of {row.host}"),
            }
            for row in rows.services.values()
        ],
        cell_tables.COMPUTE_NODES: [
            _ALIVE | _node(number, row) for number, row in enumerate(rows.nodes.values(), 1)
        ],
        cell_tables.INSTANCES: [_server(*pair) for pair in present],
        cell_tables.SHADOW_INSTANCES: [_server(*pair) for pair in numbered if pair[1].archived],
        cell_tables.INSTANCE_EXTRA: [_extra(*pair) for pair in present],
        cell_tables.INSTANCE_SYSTEM_METADATA: [_original_image(row) for _, row in present],
        cell_tables.BLOCK_DEVICE_MAPPING: [_root_disk(row) for _, row in present],
        cell_tables.MIGRATIONS: [_migration(row) for row in moves if not row.archived],
        cell_tables.SHADOW_MIGRATIONS: [_migration(row) for row in moves if row.archived],
    }


def _node(number: int, row: NodeRow) -> Mapping[str, Any]:
    return {
        **dict.fromkeys(_NO_USE, 0),
        "id": number,
        "hypervisor_type": "ironic" if row.metal else "QEMU",
        "hypervisor_version": 1,
        "cpu_info": "{}",
        "hypervisor_hostname": row.name,
        "host": row.host,
        "uuid": row.uuid,
        "mapped": 1,
        "deleted": number if row.deleted else 0,
    }


def _server(number: int, row: ServerRow) -> Mapping[str, Any]:
    return {
        "id": number,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "deleted_at": row.deleted_at,
        # By hand it is 1.
        "deleted": number if row.deleted > 1 else row.deleted,
        "uuid": row.uuid,
        "display_name": row.name,
        "hostname": row.name,
        "project_id": PROJECT,
        "user_id": USER,
        "image_ref": "" if row.volume_backed else uuid_of("image"),
        "host": row.host,
        "node": row.node or row.host,
        "vm_state": row.vm_state,
        "power_state": row.power_state,
        "task_state": row.task_state,
        "hidden": row.hidden,
    }


def _extra(number: int, row: ServerRow) -> Mapping[str, Any]:
    flavors = {"cur": row.flavor, "old": row.old_flavor, "new": row.new_flavor}
    kept = {age: _flavor(one) if one else None for age, one in flavors.items()}
    written = {"id": number, "instance_uuid": row.uuid, "flavor": json.dumps(kept)}
    return _ALIVE | written | {"deleted": row.deleted, "pci_requests": "[]"}


def _original_image(row: ServerRow) -> Mapping[str, Any]:
    """The row that Nova writes for each instance, also for one without an image."""
    return _ALIVE | {
        "instance_uuid": row.uuid,
        "key": "image_base_image_ref",
        "value": "" if row.volume_backed else uuid_of("image"),
        "deleted": row.deleted,
    }


def _flavor(row: FlavorRow) -> dict[str, Any]:
    fields = {
        "name": row.name,
        "vcpus": row.vcpus,
        "memory_mb": row.memory_mb,
        "root_gb": row.root_gb,
        "ephemeral_gb": row.ephemeral_gb,
        "swap": row.swap_mb,
        "extra_specs": extra_specs_of(row),
    }
    return versioned("Flavor", "1.2", fields)


def _root_disk(row: ServerRow) -> Mapping[str, Any]:
    kind = "volume" if row.volume_backed else "local"
    return _ALIVE | {
        "instance_uuid": row.uuid,
        "uuid": uuid_of(f"root disk of {row.uuid}"),
        "source_type": "image",
        "destination_type": kind,
        "boot_index": 0,
        "deleted": row.deleted,
    }


def _migration(row: MigrationRow) -> Mapping[str, Any]:
    return _ALIVE | {
        "uuid": row.uuid,
        "instance_uuid": row.server,
        "migration_type": row.kind,
        "status": row.status,
        "source_compute": row.source,
        "source_node": row.source,
        "dest_compute": row.target,
        "dest_node": row.target,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "cross_cell_move": row.between_cells,
        "deleted": row.deleted,
        "hidden": False,
    }


def _claim(claim: ClaimRow, generation: int | None) -> Mapping[str, Any]:
    return {
        "allocations": {uuid: {"resources": held} for uuid, held in claim.amounts.items()},
        "project_id": claim.project,
        "user_id": claim.user,
        "consumer_generation": generation,
    }


def _add_providers(client: PlacementClient) -> None:
    """The providers of a healthy cloud."""
    client.put(f"/resource_classes/{METAL_CLASS}", None)
    for row in providers().values():
        parent = {"parent_provider_uuid": row.parent} if row.parent else {}
        client.post("/resource_providers", {"uuid": row.uuid, "name": row.name, **parent})
        url = f"/resource_providers/{row.uuid}"
        stock = {kind: {"total": total} for kind, total in row.totals.items()}
        generation = 0
        for part, value in (
            ("inventories", stock),
            ("traits", sorted(row.traits)),
            ("aggregates", sorted(row.aggregates)),
        ):
            body = {"resource_provider_generation": generation, part: value}
            answer = client.put(f"{url}/{part}", body)
            generation = answer["resource_provider_generation"]
