# SPDX-License-Identifier: Apache-2.0
"""Reads a lab cloud back: which hosts are up, and which instances are consistent.

Drift is planted only in consistent instances. Nova's databases and Placement are read each time,
because earlier drift has changed them.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from trueup.lab.nova.api_tables import CELL_MAPPINGS
from trueup.lab.nova.cell_tables import COMPUTE_NODES, INSTANCES, MIGRATIONS, SERVICES
from trueup.lab.nova.databases import NovaDatabases, transaction
from trueup.lab.placement_client import PlacementClient

_SETTLED_STATES = ("active", "stopped")
_OPEN_STATUSES = ("finished", "running")


@dataclass(frozen=True, slots=True)
class CellDatabase:
    """The name of a cell, and the URL of its database."""

    name: str
    url: str


@dataclass(frozen=True, slots=True)
class ComputeNode:
    """A host that is up, with the free capacity and the consumers of its provider."""

    cell: CellDatabase
    number: int
    uuid: str
    host: str
    node: str
    free: dict[str, int]
    consumers: frozenset[str]


@dataclass(frozen=True, slots=True)
class ConsistentInstance:
    """A settled instance that holds resources on its own host, and nowhere else."""

    uuid: str
    number: int
    name: str
    project_id: str
    user_id: str
    node: ComputeNode
    resources: dict[str, int]
    consumer_generation: int


@dataclass(frozen=True, slots=True)
class Survey:
    """The hosts and instances in which drift can be planted, sorted by UUID."""

    nodes: tuple[ComputeNode, ...]
    instances: tuple[ConsistentInstance, ...]


@dataclass(frozen=True, slots=True)
class _Held:
    node: ComputeNode
    resources: dict[str, int]
    consumer_generation: int


def survey(databases: NovaDatabases, placement: PlacementClient) -> Survey:
    """Read every cell and every host's provider."""
    nodes: list[ComputeNode] = []
    rows: list[Any] = []
    held: dict[str, list[_Held]] = {}
    for cell in _cells(databases):
        for row in _compute_nodes(cell):
            node, held_there = _with_ledger(placement, cell, row)
            nodes.append(node)
            for consumer_uuid, on_node in held_there.items():
                held.setdefault(consumer_uuid, []).append(on_node)
        rows += _settled_instances(cell)
    consistent = (_consistent(row, held.get(row.uuid, [])) for row in rows)
    return Survey(
        nodes=tuple(sorted(nodes, key=lambda node: node.uuid)),
        instances=tuple(sorted(filter(None, consistent), key=lambda instance: instance.uuid)),
    )


def _cells(databases: NovaDatabases) -> tuple[CellDatabase, ...]:
    with transaction(databases.api_url) as connection:
        rows = connection.execute(select(CELL_MAPPINGS).order_by(CELL_MAPPINGS.c.id)).all()
    return tuple(CellDatabase(row.name, row.database_connection) for row in rows)


def _compute_nodes(cell: CellDatabase) -> list[Any]:
    forced_down = select(SERVICES.c.host).where(SERVICES.c.forced_down, SERVICES.c.deleted == 0)
    up = select(COMPUTE_NODES).where(
        COMPUTE_NODES.c.deleted == 0, COMPUTE_NODES.c.host.not_in(forced_down)
    )
    with transaction(cell.url) as connection:
        return list(connection.execute(up))


def _settled_instances(cell: CellDatabase) -> list[Any]:
    moving = select(MIGRATIONS.c.instance_uuid).where(MIGRATIONS.c.status.in_(_OPEN_STATUSES))
    settled = select(INSTANCES).where(
        INSTANCES.c.deleted == 0,
        INSTANCES.c.task_state.is_(None),
        INSTANCES.c.vm_state.in_(_SETTLED_STATES),
        INSTANCES.c.host.is_not(None),
        INSTANCES.c.uuid.not_in(moving),
    )
    with transaction(cell.url) as connection:
        return list(connection.execute(settled))


def _with_ledger(
    placement: PlacementClient, cell: CellDatabase, row: Any
) -> tuple[ComputeNode, dict[str, _Held]]:
    url = f"/resource_providers/{row.uuid}"
    inventories = placement.get(f"{url}/inventories")["inventories"]
    usages = placement.get(f"{url}/usages")["usages"]
    allocations = placement.get(f"{url}/allocations")["allocations"]
    node = ComputeNode(
        cell=cell,
        number=row.id,
        uuid=row.uuid,
        host=row.host,
        node=row.hypervisor_hostname,
        free={
            name: int((fields["total"] - fields["reserved"]) * fields["allocation_ratio"])
            - usages[name]
            for name, fields in inventories.items()
        },
        consumers=frozenset(allocations),
    )
    held = {
        consumer_uuid: _Held(node, fields["resources"], fields["consumer_generation"])
        for consumer_uuid, fields in allocations.items()
    }
    return node, held


def _consistent(row: Any, held: list[_Held]) -> ConsistentInstance | None:
    """The instance, or None if it holds resources on another host or on none."""
    if len(held) != 1 or (held[0].node.host, held[0].node.node) != (row.host, row.node):
        return None
    return ConsistentInstance(
        uuid=row.uuid,
        number=row.id,
        name=row.display_name,
        project_id=row.project_id,
        user_id=row.user_id,
        node=held[0].node,
        resources=held[0].resources,
        consumer_generation=held[0].consumer_generation,
    )
