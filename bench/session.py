# SPDX-License-Identifier: Apache-2.0
"""What the operations of one service remember: whom they made, and what they saw.

Both services get the same session at first, and therefore the same requests.
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
    """An answer that no operation expects while it prepares."""


@dataclass(slots=True)
class Consumer:
    """Somebody who was made here."""

    uuid: str
    generation: int
    held: Holding


@dataclass(slots=True)
class Subject:
    """A host that operations write: what it says of itself under one URL, and its generation."""

    uuid: str
    generation: int
    said: Any


class Session:
    """One service under load. Coroutines share it."""

    def __init__(self, cloud: Cloud, connect: Callable[[], Client], seed: int = 7):
        self.cloud, self.connect = cloud, connect
        self.random = random.Random(seed)
        self.living: deque[Consumer] = deque()
        self.subjects: deque[Subject] = deque()

    def new_uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def room(self) -> Holding:
        """What one more small instance holds, somewhere."""
        return self.random.choice(self.cloud.rooms)

    def body(self, held: Holding, generation: int | None, kind: str = "INSTANCE") -> dict[str, Any]:
        """What a consumer shall hold, as the API wants it."""
        return {
            "allocations": {uuid: {"resources": amounts} for uuid, amounts in held.items()},
            "project_id": self.cloud.projects[0],
            "user_id": "bench",
            "consumer_generation": generation,
            "consumer_type": kind,
        }

    async def have_living(self, client: Client, count: int) -> None:
        """Make or unmake consumers until so many live."""
        while len(self.living) > count:
            gone = self.living.popleft()
            await self._expect(client, "DELETE", f"/allocations/{gone.uuid}")
        while len(self.living) < count:
            one = Consumer(self.new_uuid(), 1, self.room())
            body = json.dumps(self.body(one.held, None)).encode()
            await self._expect(client, "PUT", f"/allocations/{one.uuid}", body)
            self.living.append(one)

    async def look_at_hosts(self, client: Client, what: str) -> None:
        """Read `what` of the hosts that are going to be written, with their generations."""
        self.subjects.clear()
        for host in self.cloud.hosts[:_HOSTS_TO_CHANGE]:
            said = await self._expect(client, "GET", f"/resource_providers/{host}/{what}")
            generation = said["resource_provider_generation"]
            self.subjects.append(Subject(host, generation, said[what]))

    async def make_room(self, client: Client, host: str) -> None:
        """Let a host have so much that no number of clients can use it up."""
        path = f"/resource_providers/{host}/inventories"
        said = await self._expect(client, "GET", path)
        for inventory in said["inventories"].values():
            inventory["total"] = inventory["max_unit"] = 100_000_000
        await self._expect(client, "PUT", path, json.dumps(said).encode())

    async def forget(self, client: Client, uuids: Iterable[str]) -> None:
        """Delete consumers that need not be there."""
        for gone in uuids:
            await client.request("DELETE", f"/allocations/{gone}")

    @staticmethod
    async def _expect(client: Client, method: str, path: str, body: bytes | None = None) -> Any:
        reply = await client.request(method, path, body)
        if reply.status >= 300:
            raise ServiceFailed(f"{method} {path}: {reply.status} {reply.body[:300]!r}")
        return json.loads(reply.body) if reply.body else None
