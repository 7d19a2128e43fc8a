# SPDX-License-Identifier: Apache-2.0
"""Renames a host of a recorded cloud: Placement has its provider twice, by both names.

As nova-compute and Neutron's agent leave it: a compute node with a uuid of its own by the new name,
and new providers of the same kind as the old ones, of which instances still hold resources.
"""

import json
from typing import Any

import requests

from tests.clouds.cloud import RecordedCloud
from tests.clouds.damage import change_cell, rows_of_cell

# The uuids of the new compute node, and of the provider of a PCI device by each name.
NODE = "61111111-2222-4333-8444-555555555555"
OLD_DEVICE = "71111111-2222-4333-8444-555555555555"
NEW_DEVICE = "72222222-3333-4444-8555-666666666666"
REQUEST = "73333333-4444-4555-8666-777777777777"
ADDRESS = "0000:81:00.0"
DEVICE_TRAITS = ("OWNER_NOVA", "COMPUTE_MANAGED_PCI_DEVICE")
DEVICE_CLASS = "CUSTOM_PCI_10DE_1EB8"
# Placement's policy wants the service role for a reshape.
HEADERS = {
    "X-Auth-Token": "admin",
    "X-Roles": "admin,service",
    "OpenStack-API-Version": "placement 1.36",
}
PROVIDER = "/resource_providers/{}"


def rename_host(cloud: RecordedCloud, cell: str, host: str, name: str, instance: str) -> None:
    """Rename a host of a cell; the instance holds a PCI device of the provider by the old name."""
    ledger = _Ledger(cloud.placement_url)
    [old] = ledger.tree(host)[:1]
    ledger.call("PUT", f"/resource_classes/{DEVICE_CLASS}")
    stock = {DEVICE_CLASS: {"total": 1}}
    ledger.make(f"{host}_{ADDRESS}", OLD_DEVICE, old["uuid"], stock, DEVICE_TRAITS)
    ledger.hold_more(instance, {OLD_DEVICE: {DEVICE_CLASS: 1}})
    _rename_node(cloud, cell, host, name)
    _assign_device(cloud, cell, instance)
    made = {old["uuid"]: NODE, OLD_DEVICE: NEW_DEVICE}
    for number, row in enumerate(ledger.tree(host)):
        uuid = made.setdefault(row["uuid"], f"8{number}111111-2222-4333-8444-555555555555")
        parent = row["parent_provider_uuid"]
        ledger.copy(row["uuid"], f"{name}{row['name'].removeprefix(host)}", uuid, made.get(parent))


def _rename_node(cloud: RecordedCloud, cell: str, host: str, name: str) -> None:
    """nova-compute deletes the row by the old name, and makes one by the new name."""
    listed = rows_of_cell(cloud, cell, "SHOW COLUMNS FROM compute_nodes")
    other = ("id", "uuid", "deleted", "hypervisor_hostname")
    same = ", ".join(row[0] for row in listed if row[0] not in other)
    for statement in (
        f"UPDATE compute_nodes SET deleted = id WHERE host = '{host}' AND deleted = 0",
        f"INSERT INTO compute_nodes (uuid, deleted, hypervisor_hostname, {same})"
        f" SELECT '{NODE}', 0, '{name}', {same} FROM compute_nodes WHERE host = '{host}'",
        f"UPDATE instances SET node = '{name}' WHERE host = '{host}'",
        f"UPDATE migrations SET source_node = '{name}' WHERE source_compute = '{host}'",
        f"UPDATE migrations SET dest_node = '{name}' WHERE dest_compute = '{host}'",
    ):
        change_cell(cloud, cell, statement)


def _assign_device(cloud: RecordedCloud, cell: str, instance: str) -> None:
    """Nova's rows of the PCI device that the instance has."""
    requests_of_it = json.dumps(
        [
            {
                "request_id": REQUEST,
                "alias_name": "gpu",
                "count": 1,
                "spec": [{"vendor_id": "10de", "product_id": "1eb8"}],
                "requester_id": None,
            }
        ]
    )
    for statement in (
        "INSERT INTO pci_devices (deleted, compute_node_id, address, vendor_id, product_id,"
        " dev_type, label, status, extra_info, instance_uuid, request_id)"
        f" SELECT 0, id, '{ADDRESS}', '10de', '1eb8', 'type-PCI', 'label_10de_1eb8', 'allocated',"
        f" '{{}}', '{instance}', '{REQUEST}' FROM compute_nodes WHERE uuid = '{NODE}'",
        f"UPDATE instance_extra SET pci_requests = '{requests_of_it}'"
        f" WHERE instance_uuid = '{instance}'",
    ):
        change_cell(cloud, cell, statement)


class _Ledger:
    """The Placement of a recorded cloud, as nova-compute and agents write to it."""

    def __init__(self, url: str) -> None:
        self._url = url

    def call(self, method: str, path: str, body: Any = None) -> Any:
        answer = requests.request(
            method, f"{self._url}{path}", headers=HEADERS, json=body, timeout=30
        )
        assert answer.ok, answer.text
        return answer.json() if answer.content else None

    def tree(self, name: str) -> list[dict[str, Any]]:
        """The providers below the one of this name, each after its parent."""
        [root] = self.call("GET", f"/resource_providers?name={name}")["resource_providers"]
        rows = self.call("GET", f"/resource_providers?in_tree={root['uuid']}")
        return sorted(rows["resource_providers"], key=lambda row: row["name"])

    def copy(self, of: str, name: str, uuid: str, parent: str | None) -> None:
        """Make a provider with the inventories and traits of another one."""
        stock = self.call("GET", f"{PROVIDER.format(of)}/inventories")["inventories"]
        traits = self.call("GET", f"{PROVIDER.format(of)}/traits")["traits"]
        self.make(name, uuid, parent, stock, traits)

    def make(self, name: str, uuid: str, parent: str | None, stock: Any, traits: Any = ()) -> None:
        below = {"parent_provider_uuid": parent} if parent else {}
        self.call("POST", "/resource_providers", {"name": name, "uuid": uuid, **below})
        for generation, (part, content) in enumerate(
            {"inventories": stock, "traits": list(traits)}.items()
        ):
            body = {"resource_provider_generation": generation, part: content}
            self.call("PUT", f"{PROVIDER.format(uuid)}/{part}", body)

    def hold_more(self, consumer: str, amounts: dict[str, dict[str, int]]) -> None:
        """Let a consumer hold this besides what it holds."""
        held = self.call("GET", f"/allocations/{consumer}")
        rows = {uuid: {"resources": row["resources"]} for uuid, row in held["allocations"].items()}
        more = {uuid: {"resources": row} for uuid, row in amounts.items()}
        kept = {name: held[name] for name in ("project_id", "user_id", "consumer_generation")}
        self.call("PUT", f"/allocations/{consumer}", {"allocations": rows | more, **kept})
