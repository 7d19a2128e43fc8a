# SPDX-License-Identifier: Apache-2.0
"""Nova's `os-services` and Neutron's `ports` as far as a step writes to them, with their state.

As in Nova's and Neutron's API references: a service has three settings and no version; a port has
a revision number, which an update raises, and If-Match guards the update.
"""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from werkzeug.wrappers import Request, Response

HOST, SERVICE, PORT = "compute-01", "31111111-2222-4333-8444-555555555555", "a-port"


def _service() -> dict[str, Any]:
    return {
        "id": SERVICE, "binary": "nova-compute", "host": HOST, "status": "enabled",
        "disabled_reason": None, "forced_down": False, "state": "up",
    }  # fmt: skip


def _port() -> dict[str, Any]:
    return {"id": PORT, "binding:profile": {"pci_slot": "0000:01:00.1"}, "revision_number": 4}


@dataclass
class Services:
    """One compute service and one port. `state` is what they are to be again after an undo."""

    service: dict[str, Any] = field(default_factory=_service)
    port: dict[str, Any] = field(default_factory=_port)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def state(self) -> dict[str, Any]:
        return {"service": dict(self.service), "profile": self.port["binding:profile"]}

    def __call__(self, environ: dict[str, Any], start_response: Callable) -> Any:
        request = Request(environ)
        with self.lock:
            return self._answer(request)(environ, start_response)

    def _answer(self, request: Request) -> Response:
        match request.method, request.path:
            case "GET", "/os-services":
                mine = request.args.get("host") == HOST
                return _json({"services": [self.service] if mine else []})
            case "PUT", path if path == f"/os-services/{SERVICE}":
                return self._set_service(request)
            case "GET", "/v2.0/ports":
                # No instance has a port that requests resources.
                return _json({"ports": []})
            case "GET", path if path == f"/v2.0/ports/{PORT}":
                return _json({"port": self.port})
            case "PUT", path if path == f"/v2.0/ports/{PORT}":
                return self._set_port(request)
        return _json({"itemNotFound": {"message": request.path}}, 404)

    def _set_service(self, request: Request) -> Response:
        body = _body(request)
        if body is None or (body.get("disabled_reason") and body.get("status") != "disabled"):
            return _json({"badRequest": {"message": "a malformed body"}}, 400)
        if body["status"] == "enabled":
            body["disabled_reason"] = None
        self.service |= body
        return _json({"service": self.service})

    def _set_port(self, request: Request) -> Response:
        body = _body(request)
        if body is None:
            return _json({"NeutronError": {"message": "a malformed body"}}, 400)
        if request.headers.get("If-Match") != f"revision_number={self.port['revision_number']}":
            return _json({"NeutronError": {"message": "the revision is another"}}, 412)
        self.port |= body["port"]
        self.port["revision_number"] += 1
        return _json({"port": self.port})


def _body(request: Request) -> dict[str, Any] | None:
    """What was sent; None: it is not whole."""
    try:
        return dict(json.loads(request.get_data()))
    except ValueError:
        return None


def _json(document: dict[str, Any], status: int = 200) -> Response:
    """An answer, with a number as every OpenStack service gives it."""
    numbered = {"X-Openstack-Request-Id": f"req-{uuid4()}"}
    return Response(json.dumps(document), status, numbered, content_type="application/json")
