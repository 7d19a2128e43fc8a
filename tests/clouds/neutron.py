# SPDX-License-Identifier: Apache-2.0
"""A Neutron of a few ports that keeps what is written to it, with the revision numbers of the real.

A port is read with all its fields, whatever was asked for, and there are no agents. `refusing` are
ports of which every write is refused, as by a Neutron whose database is read-only.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from tests.clouds import recordings
from trueup.lab.serving import serve

_CONF = """
[neutron]
auth_type = admin_token
endpoint = {url}
endpoint_override = {url}
token = admin
"""


@dataclass
class Neutron:
    """The ports by id, as documents."""

    ports: dict[str, dict[str, Any]]
    refusing: set[str] = field(default_factory=set)

    def profiles(self) -> dict[str, Any]:
        return {uuid: row["binding:profile"] for uuid, row in self.ports.items()}

    def application(self, environ: dict[str, Any], start_response: Callable) -> list[bytes]:
        *_, uuid = environ["PATH_INFO"].split("/")
        asked = parse_qs(environ["QUERY_STRING"])
        if environ["REQUEST_METHOD"] == "PUT":
            content = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            status, document = self._written(uuid, json.loads(content), environ["HTTP_IF_MATCH"])
        elif uuid == "agents":
            status, document = "200 OK", {"agents": []}
        elif uuid in self.ports:
            status, document = "200 OK", {"port": self.ports[uuid]}
        else:
            chosen = {key: asked[key] for key in ("device_id", "id", "mac_address") if key in asked}
            rows = [
                row
                for row in self.ports.values()
                if all(row[key] in wanted for key, wanted in chosen.items())
            ]
            status, document = "200 OK", {"ports": rows}
        start_response(status, [("Content-Type", "application/json")])
        return [json.dumps(document).encode()]

    def _written(self, uuid: str, body: Any, expected: str) -> tuple[str, Any]:
        row = self.ports[uuid]
        if uuid in self.refusing:
            return "409 Conflict", {"NeutronError": {"message": "the database is read-only"}}
        if expected != f"revision_number={row['revision_number']}":
            return "412 Precondition Failed", {"NeutronError": {"message": "another revision"}}
        row |= body["port"]
        row["revision_number"] += 1
        return "200 OK", {"port": row}


@contextmanager
def recorded_neutron(name: str, nova_conf: Any) -> Iterator[Neutron]:
    """The ports that were recorded with a cloud, served; nova.conf names the service."""
    neutron = Neutron({row["id"]: row for row in recordings.ports(name)})
    with served_beside(neutron, nova_conf):
        yield neutron


@contextmanager
def served_beside(neutron: Neutron, nova_conf: Any) -> Iterator[Neutron]:
    """The service, which nova.conf names."""
    with serve(neutron.application) as url:
        nova_conf.write_text(nova_conf.read_text() + _CONF.format(url=url))
        yield neutron
