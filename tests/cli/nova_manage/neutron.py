# SPDX-License-Identifier: Apache-2.0
"""A Neutron that Nova's own client can use too: it lists extensions, and wants no revision."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.clouds.neutron import Neutron

_EXTENSIONS = {
    "extensions": [
        {"alias": alias, "name": alias, "description": "", "links": [], "updated": ""}
        for alias in ("port-resource-request", "port-resource-request-groups", "binding")
    ]
}


@dataclass
class NeutronOfNova(Neutron):
    """`silent`: every request fails. `once_only`: ports that can be written only once.

    `busy`: to how many writes of a port a proxy answers 503, without asking Neutron. `refusal`: the
    status with which a write of those that are `refusing` is refused.
    """

    silent: bool = False
    busy: dict[str, int] = field(default_factory=dict)
    refusal: str = "409 Conflict"
    once_only: set[str] = field(default_factory=set)

    def application(self, environ: dict[str, Any], start_response: Callable) -> list[bytes]:
        if self.silent:
            start_response("500 Internal Server Error", [("Content-Type", "application/json")])
            return [json.dumps({"NeutronError": {"message": "out of order"}}).encode()]
        if "extensions" in environ["PATH_INFO"]:
            start_response("200 OK", [("Content-Type", "application/json")])
            return [json.dumps(_EXTENSIONS).encode()]
        environ["PATH_INFO"] = environ["PATH_INFO"].removesuffix(".json")
        *_, named = environ["PATH_INFO"].split("/")
        if environ["REQUEST_METHOD"] == "PUT" and self.busy.get(named):
            self.busy[named] -= 1
            start_response("503 Service Unavailable", [("Content-Type", "text/plain")])
            return [b"no server is available"]
        if environ["REQUEST_METHOD"] == "PUT" and "HTTP_IF_MATCH" not in environ:
            uuid = environ["PATH_INFO"].split("/")[-1]
            revision = self.ports[uuid]["revision_number"]
            environ["HTTP_IF_MATCH"] = f"revision_number={revision}"
        return super().application(environ, start_response)

    def _written(self, uuid: str, body: Any, expected: str) -> tuple[str, Any]:
        status, answer = super()._written(uuid, body, expected)
        refused = uuid in self.refusing and status.startswith("409")
        self.refusing |= {uuid} & self.once_only
        return self.refusal if refused else status, answer
