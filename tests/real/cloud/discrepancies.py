# SPDX-License-Identifier: Apache-2.0
"""What the ledger should hold, from Nova's own rows by plain SQL: nothing of Trueup is asked."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.real.cloud.openstack import Cloud
from tests.real.cloud.site import CELLS

# Provider's uuid → resource class → amount.
Held = dict[str, dict[str, int]]
ENDED = ("done", "confirmed", "reverted", "error", "failed", "cancelled", "completed")

_ALLOCATIONS = (
    "SELECT a.consumer_id, p.uuid, c.name, a.used FROM allocations a"
    " JOIN resource_providers p ON p.id = a.resource_provider_id"
    " JOIN resource_classes c ON c.id = a.resource_class_id"
)
_INSTANCES = (
    "SELECT i.uuid, i.host, i.vm_state, i.task_state, e.flavor FROM instances i"
    " JOIN instance_extra e ON e.instance_uuid = i.uuid WHERE i.deleted = 0"
)
_MIGRATIONS = "SELECT uuid, instance_uuid, status, source_compute, deleted FROM migrations"
_MAPPINGS = (
    "SELECT m.instance_uuid, c.name FROM instance_mappings m"
    # Of a deleted instance Nova keeps one that names a cell until its rows are archived.
    " LEFT JOIN cell_mappings c ON c.id = m.cell_id"
    " WHERE m.cell_id IS NULL OR NOT COALESCE(m.queued_for_delete, 0)"
)
_NODES = "SELECT host, uuid FROM compute_nodes WHERE deleted = 0"


@dataclass(frozen=True)
class Discrepancy:
    """An instance (or a consumer that is none) that holds what it should not, or lacks something.

    `under_way`: a task or a move of it is, so that this may be right in a moment. `mapped`: what is
    wrong in place of that with the cell to which Nova maps it.
    """

    subject: str
    expected: Held
    held: Held
    under_way: bool
    mapped: str = ""

    def __str__(self) -> str:
        if self.mapped:
            return f"{self.subject} {self.mapped}"
        return f"{self.subject} holds {self.held}, and should hold {self.expected}"


@dataclass
class _Nova:
    """The rows of all cells, and what they ask of the ledger, by consumer."""

    nodes: dict[str, str] = field(default_factory=dict)
    instance_of: dict[str, str] = field(default_factory=dict)
    under_way: set[str] = field(default_factory=set)
    expected: dict[str, Held] = field(default_factory=dict)
    # Of those that are not deleted.
    cell_of: dict[str, str] = field(default_factory=dict)


def discrepancies(cloud: Cloud) -> dict[str, Discrepancy]:
    """By subject. Placement is read first; what moves meanwhile is under way in Nova's rows."""
    held: dict[str, Held] = {}
    for consumer, provider, name, used in cloud.sql("placement", _ALLOCATIONS):
        held.setdefault(consumer, {}).setdefault(provider, {})[name] = used
    nova = _Nova()
    for cell in CELLS:
        _read_cell(cloud, f"nova_{cell}", nova)
    building = {row[0] for row in cloud.sql("nova_api", "SELECT instance_uuid FROM build_requests")}
    found = {row.subject: row for row in _mapped_wrong(cloud, nova, building)}
    for consumer in held.keys() | nova.expected.keys():
        expected, has = nova.expected.get(consumer, {}), held.get(consumer, {})
        if expected != has:
            subject = nova.instance_of.get(consumer, consumer)
            found[subject] = Discrepancy(
                subject, expected, has, subject in nova.under_way | building
            )
    return found


def _mapped_wrong(cloud: Cloud, nova: _Nova, building: set[str]) -> Iterator[Discrepancy]:
    """Instances that are in another cell than their mapping says, or mapped to none."""
    for uuid, mapped in cloud.sql("nova_api", _MAPPINGS):
        there = nova.cell_of.get(uuid)
        if uuid not in building and (mapped is None or (there and there != mapped)):
            words = f"is mapped to {mapped or 'no cell'}, and its row is in {there or 'no cell'}"
            yield Discrepancy(uuid, {}, {}, uuid in nova.under_way, words)


def under_way(cloud: Cloud) -> set[str]:
    """The instances that Nova is at work on."""
    nova = _Nova()
    for cell in CELLS:
        _read_cell(cloud, f"nova_{cell}", nova)
    return nova.under_way


def _read_cell(cloud: Cloud, cell: str, nova: _Nova) -> None:
    nova.nodes |= {row.host: row.uuid for row in cloud.sql(cell, _NODES)}
    waiting = {}
    for uuid, instance, status, source, deleted in cloud.sql(cell, _MIGRATIONS):
        nova.instance_of[uuid] = instance
        # Nova deletes a move with its instance, and leaves its status.
        if deleted or status in ENDED:
            continue
        if status == "finished":
            waiting[instance] = (uuid, source)
        else:
            nova.under_way.add(instance)
    for uuid, host, vm_state, task_state, flavor in cloud.sql(cell, _INSTANCES):
        if task_state or vm_state == "building":
            nova.under_way.add(uuid)
        nova.cell_of[uuid] = cell.removeprefix("nova_")
        flavors = json.loads(flavor)
        if host:
            nova.expected[uuid] = {nova.nodes[host]: _asked(flavors["cur"])}
        if vm_state == "resized" and uuid in waiting:
            migration, source = waiting[uuid]
            nova.expected[migration] = {nova.nodes[source]: _asked(flavors["old"])}


def _asked(flavor: dict[str, Any]) -> dict[str, int]:
    size = flavor["nova_object.data"]
    disk = size["root_gb"] + size["ephemeral_gb"] + -(-size["swap"] // 1024)
    return {"VCPU": size["vcpus"], "MEMORY_MB": size["memory_mb"], "DISK_GB": disk}


def settled(found: dict[str, Discrepancy]) -> Iterator[Discrepancy]:
    return (one for one in found.values() if not one.under_way)
