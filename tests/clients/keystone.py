# SPDX-License-Identifier: Apache-2.0
"""A stand-in for Keystone: everybody is the administrator, and the catalog has one service."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from werkzeug.wrappers import Request, Response

from trueup.lab.serving import serve

ROLE = {"id": "1" * 32, "name": "admin"}
DOMAIN = {"id": "default", "name": "Default"}
USER = {"id": "2" * 32, "name": "admin", "domain": DOMAIN}
PROJECT = {"id": "3" * 32, "name": "admin", "domain": DOMAIN}
REGION = "RegionOne"


@contextmanager
def keystone_for(placement_url: str) -> Iterator[dict[str, str]]:
    """Runs until the block ends; yields the variables that a client logs in with."""
    address = {"interface": "public", "region": REGION, "region_id": REGION, "url": placement_url}
    token = {
        "methods": ["password"],
        "user": USER,
        "project": PROJECT,
        "roles": [ROLE],
        "issued_at": "2026-01-01T00:00:00.000000Z",
        "expires_at": "2036-01-01T00:00:00.000000Z",
        "catalog": [
            {"type": "placement", "name": "placement", "id": "4" * 32, "endpoints": [address]}
        ],
    }

    @Request.application
    def keystone(request: Request) -> Response:
        if request.method == "POST":
            # With upstream's and our `noauth2`, this token is an administrator's.
            headers = {"X-Subject-Token": "admin"}
            return _json({"token": token}, 201, headers)
        own = {"rel": "self", "href": f"{request.host_url}v3/"}
        return _json({"version": {"id": "v3.14", "status": "stable", "links": [own]}}, 200, {})

    with serve(keystone) as url:
        yield {
            "OS_AUTH_URL": f"{url}/v3",
            "OS_USERNAME": USER["name"],
            "OS_PASSWORD": "secret",
            "OS_PROJECT_NAME": PROJECT["name"],
            "OS_USER_DOMAIN_ID": DOMAIN["id"],
            "OS_PROJECT_DOMAIN_ID": DOMAIN["id"],
            "OS_REGION_NAME": REGION,
        }


def _json(document: object, status: int, headers: dict[str, str]) -> Response:
    return Response(json.dumps(document), status, headers, mimetype="application/json")
