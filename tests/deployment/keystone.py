# SPDX-License-Identifier: Apache-2.0
"""A small Keystone on a loopback port, which validates tokens for keystonemiddleware."""

import contextlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from trueup.lab.serving import serve

USERS = {"operator": ("admin",), "nova": ("service",), "reader": ("reader",)}
"""Each user's token is the user's name; everybody is of the project `cloud`."""


@contextlib.contextmanager
def keystone() -> Iterator[str]:
    """The URL of an identity service that knows these users."""
    with serve(answer) as url:
        yield url


def settings(url: str) -> dict[str, dict[str, Any]]:
    """The settings of placement.conf for this Keystone."""
    return {
        "api": {"auth_strategy": "keystone"},
        "keystone_authtoken": {
            "www_authenticate_uri": url,
            "auth_url": url,
            "auth_type": "password",
            "username": "placement",
            "password": "secret",
            "project_name": "service",
            "user_domain_id": "default",
            "project_domain_id": "default",
            "service_token_roles_required": True,
        },
    }


def answer(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
    if path.rstrip("/") in ("", "/v3"):
        here = f"http://{environ['HTTP_HOST']}/v3/"
        links = [{"rel": "self", "href": here}]
        version = {"id": "v3.14", "status": "stable", "links": links}
        body = {"version": version} if "v3" in path else {"versions": {"values": [version]}}
        return _send(start_response, "200 OK", body)
    if method == "POST":
        own = [("X-Subject-Token", "placement-itself")]
        token = _token("placement", ("service",))
        token["token"]["catalog"] = _catalog(f"http://{environ['HTTP_HOST']}")
        return _send(start_response, "201 Created", token, own)
    asked = environ.get("HTTP_X_SUBJECT_TOKEN", "")
    if asked not in USERS:
        return _send(start_response, "404 Not Found", {"error": {"code": 404}})
    return _send(start_response, "200 OK", _token(asked, USERS[asked]))


def _token(user: str, roles: tuple[str, ...]) -> dict[str, Any]:
    domain = {"id": "default", "name": "Default"}
    until = datetime.now(UTC) + timedelta(hours=1)
    return {
        "token": {
            "methods": ["password"],
            "user": {"id": user, "name": user, "domain": domain},
            "project": {"id": "cloud", "name": "cloud", "domain": domain},
            "roles": [{"id": role, "name": role} for role in roles],
            "issued_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z"),
            "expires_at": until.strftime("%Y-%m-%dT%H:%M:%S.000000Z"),
            "catalog": [],
        }
    }


def _catalog(url: str) -> list[dict[str, Any]]:
    ends = [
        {"id": one, "interface": one, "region": "here", "region_id": "here", "url": url}
        for one in ("public", "internal", "admin")
    ]
    return [{"id": "identity", "type": "identity", "name": "keystone", "endpoints": ends}]


def _send(
    start_response: Any, status: str, body: Any, headers: list[tuple[str, str]] | None = None
) -> list[bytes]:
    start_response(status, [("Content-Type", "application/json"), *(headers or [])])
    return [json.dumps(body).encode()]
