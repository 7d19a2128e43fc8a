# SPDX-License-Identifier: Apache-2.0
"""Makes a host of a small cloud ready to be retired, or ready but for one thing."""

from dataclasses import dataclass
from uuid import uuid4

from tests.reconcile.small import Small

PROVIDER = "/resource_providers/{}"


@dataclass(frozen=True)
class DeadHost:
    """The host from which an instance was evacuated, with its cell and its provider."""

    name: str
    cell: str
    node: str
    provider: str
    evacuated: str


def dead_host(small: Small) -> DeadHost:
    """The host that died; what else was on it is deleted in Nova and in Placement."""
    planted = small.planted["evacuation-residue"]
    cell = f"nova_{planted.cell}"
    [node] = small.sql(
        cell,
        "SELECT host, hypervisor_hostname AS name FROM compute_nodes WHERE uuid = ?",
        planted.provider_uuid,
    )
    on_host = "SELECT uuid FROM instances WHERE host = ? AND deleted = 0"
    for row in small.sql(cell, on_host, node["host"]):
        assert small.call("DELETE", f"/allocations/{row['uuid']}").status_code == 204
        small.sql(cell, "DELETE FROM instances WHERE uuid = ?", row["uuid"])
    return DeadHost(node["host"], cell, node["name"], planted.provider_uuid, planted.consumer_uuid)


# Of the provider that Nova makes for a PCI device.
DEVICE_TRAITS = ("OWNER_NOVA", "COMPUTE_MANAGED_PCI_DEVICE")


def child(small: Small, parent: str, name: str, *traits: str, resource: str = "VGPU") -> str:
    """The uuid of a new provider with an inventory, below another one."""
    uuid = str(uuid4())
    body = {"name": name, "uuid": uuid, "parent_provider_uuid": parent}
    assert small.call("POST", "/resource_providers", body).status_code == 200
    contents = {"inventories": {resource: {"total": 1000}}}, {"traits": list(traits)}
    for generation, content in enumerate(contents):
        [part] = content
        body = {"resource_provider_generation": generation, **content}
        answer = small.call("PUT", f"{PROVIDER.format(uuid)}/{part}", body)
        assert answer.status_code == 200, answer.text
    return uuid


def give(small: Small, consumer: str, amounts: dict[str, dict[str, int]]) -> None:
    """Let a new consumer hold this, by provider."""
    body = {
        "allocations": {uuid: {"resources": held} for uuid, held in amounts.items()},
        "project_id": "a-project",
        "user_id": "a-user",
        "consumer_generation": None,
    }
    answer = small.call("PUT", f"/allocations/{consumer}", body)
    assert answer.status_code == 204, answer.text


def providers(small: Small) -> dict[str, str]:
    """The names of all providers, by uuid."""
    listed = small.call("GET", "/resource_providers").json()["resource_providers"]
    return {row["uuid"]: row["name"] for row in listed}
