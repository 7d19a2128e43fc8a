# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin of Watcher's environment: its functional tests ask the service at `PLACEMENT`.

Its fixture serves an emulator of Placement in the same process; this one writes the emulator's
providers and inventories to the service, and lets Watcher's client read them there.
"""

import os
from types import SimpleNamespace
from typing import Any

import requests
import watcher.tests.functional  # noqa: F401 - first: it chooses threads before others do
from keystoneauth1.token_endpoint import Token
from openstack.connection import Connection
from watcher.tests.local_fixtures import nova
from watcher.tests.local_fixtures.placement_api_emulator import PlacementAPIEmulator

SERVICE = os.environ["PLACEMENT"]
HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.39"}


class Service(PlacementAPIEmulator):
    """It answers nothing itself: what a test loads into it is written to the service."""

    def load_topology(self, topology: Any = None) -> None:
        super().load_topology(topology)
        for row in ask("GET", "/resource_providers")["resource_providers"]:
            ask("DELETE", f"/resource_providers/{row['uuid']}")
        for uuid, row in self.resource_providers.items():
            ask("POST", "/resource_providers", {"uuid": uuid, "name": row["name"]})
            body = {"resource_provider_generation": 0, "inventories": self.inventories[uuid]}
            ask("PUT", f"/resource_providers/{uuid}/inventories", body)
        self.app = refuse


def ask(method: str, path: str, body: object = None) -> Any:
    answer = requests.request(method, SERVICE + path, headers=HEADERS, json=body, timeout=30)
    assert answer.ok, f"{method} {path} {body}: {answer.text}"
    return answer.json() if answer.content else None


def refuse(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    start_response("500 The service is to be asked, and not its emulator", [])
    return []


def connection(*, session: Any, compute_endpoint_override: str, **_: object) -> Connection:
    return Connection(
        session=session,
        compute_endpoint_override=compute_endpoint_override,
        placement_endpoint_override=SERVICE,
    )


nova.placement_api_emulator = SimpleNamespace(PlacementAPIEmulator=Service)
nova.os_connection = SimpleNamespace(Connection=connection)
nova.noauth = SimpleNamespace(NoAuth=lambda endpoint: Token(endpoint, "admin"))
