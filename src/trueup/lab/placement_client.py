# SPDX-License-Identifier: Apache-2.0
"""A Placement client that calls a WSGI application directly: HTTP without a socket.

The lab writes to Placement only through its API, as Nova does.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from wsgiref.types import WSGIApplication

from werkzeug.test import Client

# Below 1.38 consumers have no type. Neither Nova nor Zun writes one.
MICROVERSION = "1.36"
# With `auth_strategy = noauth2` this token is an administrator's.
ADMIN_TOKEN = "admin"

_HEADERS = {
    "Accept": "application/json",
    "X-Auth-Token": ADMIN_TOKEN,
    "OpenStack-API-Version": f"placement {MICROVERSION}",
}


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
        self._client = Client(application, use_cookies=False)

    def get(self, path: str) -> Any:
        """Return the answer's JSON. Raises `PlacementRefused`."""
        return self._call("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the answer's JSON, or None if it has no body. Raises `PlacementRefused`."""
        return self._call("POST", path, body)

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the answer's JSON, or None if it has no body. Raises `PlacementRefused`."""
        return self._call("PUT", path, body)

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        response = self._client.open(path, method=method, json=body, headers=_HEADERS)
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            raise PlacementRefused(f"{method} {path}", response.status, response.text)
        return response.json if response.data else None
