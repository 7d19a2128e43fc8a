# SPDX-License-Identifier: Apache-2.0
"""Reads a lab cloud with plain SQL and over Placement's API, independently of the lab's code."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from trueup.lab import SmallCloud

HOST_CELLS = ("cell1", "cell2")

# consumer → provider → resource class → amount
Held = dict[str, dict[str, dict[str, int]]]


def rows(cloud: SmallCloud, database: str, query: str) -> list[dict[str, Any]]:
    connection = sqlite3.connect(cloud.folder / f"{database}.sqlite")
    connection.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in connection.execute(query)]
    finally:
        connection.close()


def instances(cloud: SmallCloud) -> dict[str, dict[str, Any]]:
    """By UUID, every row of `instances` in the cells with hosts, with the name of its cell."""
    return {
        row["uuid"]: row | {"cell": cell}
        for cell in HOST_CELLS
        for row in rows(cloud, f"nova_{cell}", "SELECT * FROM instances")
    }


def providers(cloud: SmallCloud) -> dict[tuple[str, str], str]:
    """The uuid of each compute node, by (host, node)."""
    return {
        (row["host"], row["hypervisor_hostname"]): row["uuid"]
        for cell in HOST_CELLS
        for row in rows(cloud, f"nova_{cell}", "SELECT * FROM compute_nodes WHERE deleted = 0")
    }


def held(cloud: SmallCloud) -> Held:
    """Every allocation in Placement."""
    found: Held = {}
    for provider in cloud.placement.get("/resource_providers")["resource_providers"]:
        url = f"/resource_providers/{provider['uuid']}/allocations"
        for consumer, one in cloud.placement.get(url)["allocations"].items():
            found.setdefault(consumer, {})[provider["uuid"]] = one["resources"]
    return found


def expected(cloud: SmallCloud, instance: dict[str, Any], age: str = "cur") -> dict[str, int]:
    """What the flavor stored with an instance requests: `cur` or, during a resize, `old`."""
    database, uuid = f"nova_{instance['cell']}", instance["uuid"]
    [extra] = rows(cloud, database, f"SELECT * FROM instance_extra WHERE instance_uuid = '{uuid}'")
    [root] = rows(
        cloud,
        database,
        f"SELECT * FROM block_device_mapping WHERE instance_uuid = '{uuid}' AND boot_index = 0",
    )
    flavor = json.loads(extra["flavor"])[age]["nova_object.data"]
    root_gb = 0 if root["destination_type"] == "volume" else flavor["root_gb"]
    disk_gb = root_gb + flavor["ephemeral_gb"] + (flavor["swap"] + 1023) // 1024
    amounts = {"VCPU": flavor["vcpus"], "MEMORY_MB": flavor["memory_mb"], "DISK_GB": disk_gb}
    return {name: amount for name, amount in amounts.items() if amount}


def whole_file(path: Path) -> list[str]:
    """A SQLite file as SQL text."""
    connection = sqlite3.connect(path)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()
