# SPDX-License-Identifier: Apache-2.0
"""The state of the operations on one service: consumers that they made, and generations.

Both services begin with equal sessions, and therefore get the same requests.
"""

import json
import random
import uuid
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from bench.client import Client
from bench.cloud import Cloud, Holding

_HOSTS_TO_CHANGE = 64


class ServiceFailed(Exception):
    """An unexpected answer while an operation is prepared."""


@dataclass(slots=True)
class Consumer:
    """A consumer that an operation made."""

    uuid: str
    generation: int
    held: Holding


@dataclass(slots=True)
class Subject:
    """A host whose inventories, traits or aggregates are written, and its generation."""

    uuid: str
    generation: int
    said: Any


class Session:
    """The session of one service under load, shared by all coroutines."""

    def __init__(self, cloud: Cloud, connect: Callable[[], Client], seed: int = 7):
        self.cloud, self.connect = cloud, connect
        self.random = random.Random(seed)
        self.living: deque[Consumer] = deque()
        self.subjects: deque[Subject] = deque()

    def new_uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def room(self) -> Holding:
        """The allocation of one more small instance, on some host with free capacity."""
        return self.random.choice(self.cloud.rooms)

    def body(self, held: Holding, generation: int | None, kind: str = "INSTANCE") -> dict[str, Any]:
        """A request body with what a consumer is to hold."""
        return {
            "allocations": {uuid: {"resources": amounts} for uuid, amounts in held.items()},
            "project_id": self.cloud.projects[0],
            "user_id": "bench",
            "consumer_generation": generation,
            "consumer_type": kind,
        }

    async def have_living(self, client: Client, count: int) -> None:
        """Create or delete consumers until there are so many."""
        while len(self.living) > count:
            gone = self.living.popleft()
            await self._expect(client, "DELETE", f"/allocations/{gone.uuid}")
        while len(self.living) < count:
            one = Consumer(self.new_uuid(), 1, self.room())
            body = json.dumps(self.body(one.held, None)).encode()
            await self._expect(client, "PUT", f"/allocations/{one.uuid}", body)
            self.living.append(one)

    async def look_at_hosts(self, client: Client, what: str) -> None:
        """Read `what` (a part of the URL) of the hosts that will be written, with generations."""
        self.subjects.clear()
        for host in self.cloud.hosts[:_HOSTS_TO_CHANGE]:
            said = await self._expect(client, "GET", f"/resource_providers/{host}/{what}")
            generation = said["resource_provider_generation"]
            self.subjects.append(Subject(host, generation, said[what]))

    async def make_room(self, client: Client, host: str) -> None:
        """Give a host so much inventory that the clients cannot use all of it."""
        path = f"/resource_providers/{host}/inventories"
        said = await self._expect(client, "GET", path)
        for inventory in said["inventories"].values():
            inventory["total"] = inventory["max_unit"] = 100_000_000
        await self._expect(client, "PUT", path, json.dumps(said).encode())

    async def forget(self, client: Client, uuids: Iterable[str]) -> None:
        """Delete consumers that are no longer needed."""
        for gone in uuids:
            await client.request("DELETE", f"/allocations/{gone}")

    @staticmethod
    async def _expect(client: Client, method: str, path: str, body: bytes | None = None) -> Any:
        reply = await client.request(method, path, body)
        if reply.status >= 300:
            raise ServiceFailed(f"{method} {path}: {reply.status} {reply.body[:300]!r}")
        return json.loads(reply.body) if reply.body else None
