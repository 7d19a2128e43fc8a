# SPDX-License-Identifier: Apache-2.0
"""Nova's `os-services` over the databases of a cloud, behind the same port as its Placement.

As Nova 34 deletes a compute service: it refuses while instances are on the host or migrations are
under way, takes the host out of its aggregates, deletes the tree of each compute node from the
leaves up and swallows what Placement refuses, fails with 500 where a node has no provider, and then
deletes the host mapping, the service and its compute nodes.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import requests
import sqlalchemy
from sqlalchemy.pool import NullPool
from werkzeug.wrappers import Request, Response

from trueup.lab.serving import serve

OPEN = (
    "status NOT IN ('confirmed', 'reverted', 'error', 'failed', 'completed', 'cancelled', 'done')"
)
# Placement's policy wants the service role for a reshape.
HEADERS = {"X-Auth-Token": "admin", "X-Roles": "admin,service"}
PROVIDER = "/resource_providers/{}"


@dataclass
class NovaServices:
    """The application. `deletions` counts the services that were deleted."""

    api_url: str
    cell_urls: Mapping[str, str]
    placement_url: str
    deletions: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def empty(self, host: str | None) -> None:
        """Delete the servers of a host, as if Nova had done so long ago."""
        named = {"host": host}
        for url in self.cell_urls.values():
            on_host = "SELECT uuid FROM instances WHERE host = :host AND deleted = 0"
            for row in self._sql(url, on_host, **named):
                self._placement("DELETE", f"/allocations/{row.uuid}")
            self._sql(url, "UPDATE instances SET deleted = id WHERE host = :host", **named)

    def __call__(self, environ: dict[str, Any], start_response: Callable) -> Any:
        request = Request(environ)
        if request.path.startswith("/os-services"):
            with self.lock:
                return self._answer(request)(environ, start_response)
        return self._forwarded(request)(environ, start_response)

    def _answer(self, request: Request) -> Response:
        rows = list(self._services())
        if request.method == "GET":
            wanted = request.args.get("host")
            return _json({"services": [row for row, _ in rows if wanted in (None, row["host"])]})
        uuid = request.path.rpartition("/")[2]
        [(row, cell_url)] = [pair for pair in rows if pair[0]["id"] == uuid]
        assert request.method == "DELETE"
        return self._delete(row["host"], cell_url)

    def _services(self) -> Iterator[tuple[dict[str, Any], str]]:
        query = (
            "SELECT uuid, host, disabled, disabled_reason, forced_down FROM services"
            " WHERE services.binary = 'nova-compute' AND deleted = 0"
        )
        for url in self.cell_urls.values():
            for row in self._sql(url, query):
                yield {
                    "id": row.uuid, "binary": "nova-compute", "host": row.host,
                    "status": "disabled" if row.disabled else "enabled",
                    "disabled_reason": row.disabled_reason, "forced_down": bool(row.forced_down),
                    "state": "down",
                }, url  # fmt: skip

    def _delete(self, host: str, cell_url: str) -> Response:
        named = {"host": host}
        on_host = "SELECT uuid FROM instances WHERE host = :host AND deleted = 0"
        if self._sql(cell_url, on_host, **named):
            return _refusal("Unable to delete compute service that is hosting instances.")
        moves = (
            f"SELECT uuid FROM migrations WHERE {OPEN} AND :host IN (source_compute, dest_compute)"
        )
        if self._sql(cell_url, moves, **named):
            return _refusal("Unable to delete compute service that has in-progress migrations.")
        nodes = self._sql(
            cell_url, "SELECT uuid FROM compute_nodes WHERE host = :host AND deleted = 0", **named
        )
        self._leave_aggregates(host, [row.uuid for row in nodes])
        for row in nodes:
            if not self._delete_tree(row.uuid):
                return _json({"computeFault": {"message": "Unexpected API Error."}}, 500)
        self._sql(self.api_url, "DELETE FROM host_mappings WHERE host = :host", **named)
        for table in ("services", "compute_nodes"):
            statement = f"UPDATE {table} SET deleted = id WHERE host = :host AND deleted = 0"
            self._sql(cell_url, statement, **named)
        self.deletions += 1
        return Response(status=204)

    def _leave_aggregates(self, host: str, nodes: list[str]) -> None:
        query = (
            "SELECT aggregates.id AS id, uuid FROM aggregates JOIN aggregate_hosts"
            " ON aggregate_id = aggregates.id WHERE host = :host"
        )
        for row in self._sql(self.api_url, query, host=host):
            for node in nodes:
                path = f"{PROVIDER.format(node)}/aggregates"
                found = self._placement("GET", path)
                if found.status_code == 200:
                    left = [one for one in found.json()["aggregates"] if one != row.uuid]
                    body = {**found.json(), "aggregates": left}
                    self._placement("PUT", path, body)
            statement = "DELETE FROM aggregate_hosts WHERE host = :host AND aggregate_id = :id"
            self._sql(self.api_url, statement, host=host, id=row.id)

    def _delete_tree(self, root: str) -> bool:
        """Whether there was such a provider."""
        found = self._placement("GET", f"/resource_providers?in_tree={root}")
        rows = {row["uuid"]: row for row in found.json()["resource_providers"]}
        if root not in rows:
            return False

        def depth(uuid: str) -> int:
            parent = rows[uuid]["parent_provider_uuid"]
            return depth(parent) + 1 if parent else 0

        for uuid in sorted(rows, key=depth, reverse=True):
            # Nova swallows the refusal of a provider that is in use.
            self._placement("DELETE", PROVIDER.format(uuid))
        return True

    def _placement(self, method: str, path: str, body: Any = None) -> requests.Response:
        version = {"OpenStack-API-Version": "placement 1.36"}
        return requests.request(
            method, f"{self.placement_url}{path}", headers=HEADERS | version, json=body, timeout=30
        )

    def _forwarded(self, request: Request) -> Response:
        headers = {name: value for name, value in request.headers.items() if name != "Host"}
        reply = requests.request(
            request.method,
            f"{self.placement_url}{request.full_path.rstrip('?')}",
            headers=headers | HEADERS,
            data=request.get_data(),
            timeout=60,
        )
        kept = {"content-type", "openstack-api-version", "x-openstack-request-id", "location"}
        reported = {name: value for name, value in reply.headers.items() if name.lower() in kept}
        return Response(reply.content, reply.status_code, reported)

    @staticmethod
    def _sql(url: str, statement: str, **values: Any) -> list[Any]:
        engine = sqlalchemy.create_engine(url, poolclass=NullPool)
        with engine.begin() as connection:
            found = connection.execute(sqlalchemy.text(statement), values)
            return list(found) if found.returns_rows else []


def cell_urls(api_url: str) -> dict[str, str]:
    """The databases of a lab cloud's cells, by name."""
    engine = sqlalchemy.create_engine(api_url, poolclass=NullPool)
    with engine.begin() as connection:
        statement = "SELECT name, database_connection AS url FROM cell_mappings"
        return {row.name: row.url for row in connection.execute(sqlalchemy.text(statement))}


@contextlib.contextmanager
def beside_placement(services: NovaServices) -> Iterator[str]:
    """The URL at which both answer."""
    with serve(services) as url:
        yield url


def _refusal(message: str) -> Response:
    return _json({"conflictingRequest": {"code": 409, "message": message}}, 409)


def _json(document: dict[str, Any], status: int = 200) -> Response:
    return Response(json.dumps(document), status, content_type="application/json")
