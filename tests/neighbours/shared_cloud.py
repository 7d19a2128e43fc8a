# SPDX-License-Identifier: Apache-2.0
"""A small cloud whose ledger other services use too, and what Nova would write there for them."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.cli.commands.test_capacity import let_report
from tests.cli.running import ROWS, trueup
from tests.reconcile.small import Small

ON_HOSTS = """
SELECT uuid, node, host FROM instances
WHERE deleted = 0 AND vm_state = 'active' AND task_state IS NULL AND host IS NOT NULL
"""
FIRST_FREE_FLAVOR = 101


@dataclass(frozen=True)
class Server:
    """A server that is right, on its compute node."""

    uuid: str
    node: str
    host: str


@dataclass(frozen=True)
class SharedCloud:
    """`login` are the variables of a client. Both servers are on one compute node of cell1."""

    small: Small
    login: Mapping[str, str]
    server: Server
    other: Server

    @property
    def node(self) -> str:
        return self.server.node

    def judged(self) -> list[dict[str, object]]:
        """What an audit says of everything, but for what changes while the hosts report."""
        rows = trueup("audit", *ROWS).json()
        return [{name: row[name] for name in row.keys() - {"Age", "Evidence"}} for row in rows]

    def judged_of(self, server: Server) -> dict[str, Any]:
        """What an audit of the server says."""
        [row] = trueup("audit", *ROWS, "--instance", server.uuid).json()
        return dict(row)

    def asks_for(self, server: Server, **extra_specs: str) -> None:
        """It was made of a flavor that has these extra specs."""
        query = "SELECT flavor FROM instance_extra WHERE instance_uuid = ?"
        [row] = self.small.sql("nova_cell1", query, server.uuid)
        flavor = json.loads(row["flavor"])
        flavor["cur"]["nova_object.data"]["extra_specs"] = extra_specs
        change = "UPDATE instance_extra SET flavor = ? WHERE instance_uuid = ?"
        self.small.sql("nova_cell1", change, json.dumps(flavor), server.uuid)

    def claim(self, server: Server, resource_class: str) -> None:
        """Nova's scheduler adds one of this class to what the server holds, where there is one."""
        query = f"/allocation_candidates?resources={resource_class}:1"
        [place, *_] = self.small.call("GET", query).json()["allocation_requests"]
        body = self.small.holding(server.uuid)
        body["allocations"] |= place["allocations"]
        answer = self.small.call("PUT", f"/allocations/{server.uuid}", body)
        assert answer.status_code == 204, answer.text

    def lose(self, server: Server) -> None:
        """The server holds nothing any more."""
        assert self.small.call("DELETE", f"/allocations/{server.uuid}").status_code == 204

    def fits(self, **extra_specs: str) -> str:
        """How many servers of a new flavor with these extra specs fit."""
        [newest] = self.small.sql("nova_api", "SELECT * FROM flavors ORDER BY id DESC LIMIT 1")
        number = max(newest["id"] + 1, FIRST_FREE_FLAVOR)
        row = newest | {"id": number, "name": f"flavor-{number}", "flavorid": str(number)}
        row |= {"vcpus": 1, "memory_mb": 512, "root_gb": 1, "swap": 0, "ephemeral_gb": 0}
        self._insert("flavors", row)
        for key, value in extra_specs.items():
            spec = {"flavor_id": number, "key": key, "value": value}
            self._insert("flavor_extra_specs", spec)
        let_report(self.small)
        counted = trueup("capacity", "--flavor", row["name"], "-f", "value", "-c", "Fits now")
        return counted.out.strip()

    def providers(self) -> dict[str, str]:
        """The uuids of all providers, by name."""
        listed = self.small.call("GET", "/resource_providers").json()["resource_providers"]
        return {row["name"]: row["uuid"] for row in listed}

    def inventories(self, provider: str) -> dict[str, Any]:
        """Those of a provider with this name."""
        path = f"/resource_providers/{self.providers()[provider]}/inventories"
        found: dict[str, Any] = self.small.call("GET", path).json()["inventories"]
        return found

    def _insert(self, table: str, row: Mapping[str, object]) -> None:
        places = ", ".join("?" * len(row))
        statement = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})"
        self.small.sql("nova_api", statement, *row.values())


def two_servers(small: Small) -> tuple[Server, Server]:
    """Of cell1, on one compute node, and as they should be."""
    planted = {one.consumer_uuid for one in small.planted.values()}
    found = [Server(**row) for row in small.sql("nova_cell1", ON_HOSTS)]
    right = [one for one in found if one.uuid not in planted]
    return next(
        (one, other) for one, other in itertools.combinations(right, 2) if one.node == other.node
    )
