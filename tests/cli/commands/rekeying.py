# SPDX-License-Identifier: Apache-2.0
"""A host whose compute node has another uuid than its provider, with instances and children."""

from dataclasses import dataclass

from tests.cli.commands.emptying import DEVICE_TRAITS, child
from tests.reconcile.small import Small

HOST, CELL = "compute-01", "nova_cell1"
NEW = "61111111-2222-4333-8444-555555555555"


@dataclass(frozen=True)
class Rekeyed:
    """The old provider with its children, and an instance that holds something of all of them."""

    name: str
    old: str
    agent: str
    bridge: str
    device: str
    instance: str


def with_another_uuid(small: Small, deleted_row: bool = True) -> Rekeyed:
    """nova-compute of the host is down; with `deleted_row`, Nova deleted the node once."""
    [node] = small.sql(
        CELL,
        "SELECT uuid, hypervisor_hostname AS name FROM compute_nodes WHERE host = ?",
        HOST,
    )
    old, name = node["uuid"], node["name"]
    agent = child(
        small, old, f"{name}:Open vSwitch agent", resource="NET_PACKET_RATE_KILOPACKET_PER_SEC"
    )
    bridge = child(
        small, agent, f"{name}:Open vSwitch agent:br-ex", resource="NET_BW_EGR_KILOBIT_PER_SEC"
    )
    device = child(small, old, f"{name}_0000:81:00.0", *DEVICE_TRAITS)
    [row] = small.sql(
        CELL,
        "SELECT uuid FROM instances WHERE host = ? AND deleted = 0 AND vm_state = 'active'"
        " AND uuid != ? ORDER BY uuid LIMIT 1",
        HOST, small.consumer("missing-allocation"),
    )  # fmt: skip
    hold_more(
        small, row["uuid"], {bridge: {"NET_BW_EGR_KILOBIT_PER_SEC": 100}, device: {"VGPU": 1}}
    )
    small.sql(CELL, "UPDATE services SET forced_down = 1 WHERE host = ?", HOST)
    small.sql(CELL, "UPDATE compute_nodes SET uuid = ? WHERE host = ? AND deleted = 0", NEW, HOST)
    if deleted_row:
        columns = [
            one["name"]
            for one in small.sql(CELL, "SELECT name FROM pragma_table_info('compute_nodes')")
            if one["name"] not in ("id", "deleted", "uuid")
        ]
        listed = ", ".join(columns)
        small.sql(
            CELL,
            f"INSERT INTO compute_nodes (id, deleted, uuid, {listed})"
            f" SELECT id + 1000, id + 1000, ?, {listed} FROM compute_nodes WHERE uuid = ?",
            old,
            NEW,
        )
    return Rekeyed(name, old, agent, bridge, device, row["uuid"])


def hold_more(small: Small, consumer: str, amounts: dict[str, dict[str, int]]) -> None:
    """Let a consumer hold this besides what it holds."""
    held = small.holding(consumer)
    rows = {uuid: {"resources": row["resources"]} for uuid, row in held["allocations"].items()}
    more = {uuid: {"resources": row} for uuid, row in amounts.items()}
    body = {
        "allocations": rows | more,
        "project_id": held["project_id"],
        "user_id": held["user_id"],
        "consumer_generation": held["consumer_generation"],
    }
    answer = small.call("PUT", f"/allocations/{consumer}", body)
    assert answer.status_code == 204, answer.text


def held_on(small: Small, provider: str) -> dict[str, dict[str, int]]:
    """What each consumer holds of a provider."""
    found = small.call("GET", f"/resource_providers/{provider}/allocations")
    rows = found.json().get("allocations", {})
    return {one: row["resources"] for one, row in rows.items()}
