# SPDX-License-Identifier: Apache-2.0
"""A client for a Placement application in the same process."""

import io
import json
from dataclasses import dataclass, field
from typing import Any

from trueup.placement.app import PlacementApplication

UUID = "00000000-0000-4000-8000-{:012d}".format
"""A readable UUID for each number."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the service."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def error(self) -> dict[str, Any]:
        """The first error of an error document."""
        (error,) = self.json["errors"]
        return error


@dataclass(slots=True)
class Client:
    """Sends requests as an administrator, at the newest microversion unless told otherwise."""

    application: PlacementApplication
    headers: dict[str, str] = field(default_factory=lambda: {"x-auth-token": "admin"})

    def get(self, path: str, **options: Any) -> Reply:
        return self.send("GET", path, **options)

    def put(self, path: str, body: Any = None, **options: Any) -> Reply:
        return self.send("PUT", path, body, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> Reply:
        return self.send("POST", path, body, **options)

    def delete(self, path: str, **options: Any) -> Reply:
        return self.send("DELETE", path, **options)

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        version: str | None = "1.39",
        headers: dict[str, str] | None = None,
        chunked: bool = False,
    ) -> Reply:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        path, _, query = path.partition("?")
        environ = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "SERVER_NAME": "placement.example",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "wsgi.url_scheme": "http",
            "wsgi.errors": io.StringIO(),
            "wsgi.input": io.BytesIO(content if body is not None else b""),
        }
        if body is not None:
            environ |= {"CONTENT_LENGTH": str(len(content)), "CONTENT_TYPE": "application/json"}
        if chunked:
            # A server that reads chunks ends the stream, and passes no length.
            del environ["CONTENT_LENGTH"]
            environ["wsgi.input_terminated"] = True
        given = {**self.headers, **(headers or {})}
        if version is not None:
            given["openstack-api-version"] = f"placement {version}"
        for name, value in given.items():
            spelled = name.upper().replace("-", "_")
            environ[spelled if spelled == "CONTENT_TYPE" else f"HTTP_{spelled}"] = value
        return _reply(self.application, environ)

    # What most tests need first.

    def make_provider(
        self,
        number: int,
        parent: int | None = None,
        *,
        inventories: dict[str, Any] | None = None,
        traits: tuple[str, ...] = (),
        aggregates: tuple[int, ...] = (),
    ) -> str:
        """A provider with the UUID and name of its number; inventories by class, or totals."""
        uuid = UUID(number)
        body: dict[str, Any] = {"name": f"provider {number}", "uuid": uuid}
        if parent is not None:
            body["parent_provider_uuid"] = UUID(parent)
        made = [self.post("/resource_providers", body)]
        path = f"/resource_providers/{uuid}"
        generation = 0
        if inventories:
            given = {
                name: fields if isinstance(fields, dict) else {"total": fields}
                for name, fields in inventories.items()
            }
            made.append(
                self.put(
                    f"{path}/inventories",
                    {"resource_provider_generation": generation, "inventories": given},
                )
            )
            generation += 1
        if traits:
            made.append(
                self.put(
                    f"{path}/traits",
                    {"resource_provider_generation": generation, "traits": list(traits)},
                )
            )
            generation += 1
        if aggregates:
            made.append(
                self.put(
                    f"{path}/aggregates",
                    {
                        "resource_provider_generation": generation,
                        "aggregates": [UUID(number) for number in aggregates],
                    },
                )
            )
        for reply in made:
            assert reply.status == 200, reply
        return uuid

    def claim(
        self, consumer: int, amounts: dict[int, dict[str, int]], generation: int | None = None
    ) -> Reply:
        """Give a consumer amounts, by provider and class."""
        return self.put(f"/allocations/{UUID(consumer)}", claim(amounts, generation))


def claim(amounts: dict[int, dict[str, int]], generation: int | None = None) -> dict[str, Any]:
    """The body of an allocation of the newest form."""
    return {
        "allocations": {UUID(number): {"resources": held} for number, held in amounts.items()},
        "project_id": "a-project",
        "user_id": "a-user",
        "consumer_generation": generation,
        "consumer_type": "INSTANCE",
    }


def _reply(application: PlacementApplication, environ: dict[str, Any]) -> Reply:
    started: list[Any] = []

    def start_response(status: str, headers: list[tuple[str, str]], *_rest: Any) -> None:
        started[:] = [int(status.split()[0]), dict(headers)]

    body = b"".join(application(environ, start_response))
    status, headers = started
    return Reply(status, {name.lower(): value for name, value in headers.items()}, body.decode())
