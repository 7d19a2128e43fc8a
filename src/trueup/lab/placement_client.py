# SPDX-License-Identifier: Apache-2.0
"""A Placement client that calls a WSGI application directly: HTTP without a socket.

The lab writes Placement only through its API, as Nova does, whoever serves it.
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit
from wsgiref.types import WSGIApplication

from trueup.lab.wsgi import call, environ_for

# Below 1.38 consumers have no type: Nova writes none, and neither does Zun.
MICROVERSION = "1.36"
# What the service's `noauth2` strategy takes for an administrator.
ADMIN_TOKEN = "admin"

_BAD_REQUEST = 400


class PlacementRefused(Exception):
    """Placement answered with a status of 400 or above."""

    def __init__(self, request: str, status: str, answer: str) -> None:
        super().__init__(f"{request}: {status}: {answer}")
        self.request = request
        self.status = status
        self.answer = answer


class PlacementClient:
    """Calls one WSGI application, one request at a time, as an administrator."""

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def get(self, path: str) -> Any:
        """The answer's JSON; raises `PlacementRefused`."""
        return self._call("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The answer's JSON, None when it has none; raises `PlacementRefused`."""
        return self._call("POST", path, body)

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        """The answer's JSON, None when it has none; raises `PlacementRefused`."""
        return self._call("PUT", path, body)

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        answer = call(self._application, _environ(method, path, body))
        if answer.code >= _BAD_REQUEST:
            raise PlacementRefused(f"{method} {path}", answer.status, answer.body.decode())
        return json.loads(answer.body) if answer.body else None


def _environ(method: str, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
    url = urlsplit(path)
    content = b"" if body is None else json.dumps(body).encode()
    return environ_for(method, (unquote(url.path), url.query), content) | {
        "CONTENT_TYPE": "application/json",
        "HTTP_HOST": "127.0.0.1",
        "HTTP_ACCEPT": "application/json",
        "HTTP_X_AUTH_TOKEN": ADMIN_TOKEN,
        "HTTP_OPENSTACK_API_VERSION": f"placement {MICROVERSION}",
    }
