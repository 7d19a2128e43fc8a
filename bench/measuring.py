# SPDX-License-Identifier: Apache-2.0
"""Short turns, alternating between two services: A B, B A, A B, ...

What disturbs the machine for longer than a turn disturbs both. Both services and the database are
up all the time, but only one is asked at a time, so the database's processor time is that one's.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

from bench.client import Client
from bench.meter import seconds_used
from bench.reads import Read
from bench.services import Database, Service
from bench.session import Session
from bench.writes import Write


@dataclass(frozen=True, slots=True)
class Effort:
    """How long each operation is measured, for each service."""

    seconds: float = 4.0
    turns: int = 8
    requests_min: int = 3
    """In each turn, however long they take."""


@dataclass(slots=True)
class Measured:
    """What one service did for one operation. Times are seconds, sizes bytes."""

    times: list[float] = field(default_factory=list)
    elapsed: float = 0.0
    service_seconds: float = 0.0
    database_seconds: float = 0.0
    size: int = 0
    conflicts: int = 0
    errors: int = 0

    @property
    def count(self) -> int:
        return len(self.times)

    @property
    def per_second(self) -> float:
        return self.count / self.elapsed if self.elapsed else 0.0

    @property
    def processor_ms(self) -> float:
        """Service and database together, for one request."""
        return 1000 * (self.service_seconds + self.database_seconds) / max(1, self.count)

    def percentile_ms(self, share: float) -> float:
        """The time within which this share of the requests was answered."""
        ordered = sorted(self.times)
        if not ordered:
            return 0.0
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(slots=True)
class Competitor:
    """A service, and the session of those who use it."""

    service: Service
    session: Session


async def compare(
    operation: Read | Write,
    clients: int,
    competitors: Sequence[Competitor],
    database: Database,
    effort: Effort,
) -> list[Measured]:
    """One operation under each of the competitors, in their order."""
    results = [Measured() for _ in competitors]
    pairs = list(zip(competitors, results, strict=True))
    # Some requests that do not count: after them each thread has made its connections.
    warming = Effort(seconds=0.0, turns=1, requests_min=2 * clients)
    for competitor in competitors:
        await _turn(operation, clients, competitor, Measured(), database, warming)
    for turn in range(effort.turns):
        for competitor, measured in pairs if turn % 2 == 0 else pairs[::-1]:
            await _turn(operation, clients, competitor, measured, database, effort)
    return results


async def _turn(
    operation: Read | Write,
    clients: int,
    competitor: Competitor,
    measured: Measured,
    database: Database,
    effort: Effort,
) -> None:
    session, service = competitor.session, competitor.service
    connections = [session.connect() for _ in range(clients)]
    if isinstance(operation, Write):
        await operation.prepare(session, connections[0])
    used, used_database = seconds_used(service.process), database.seconds_used()
    began = perf_counter()
    end = began + effort.seconds / effort.turns
    least = measured.count + effort.requests_min
    await asyncio.gather(
        *(_ask(operation, session, client, measured, end, least) for client in connections)
    )
    measured.elapsed += perf_counter() - began
    measured.service_seconds += seconds_used(service.process) - used
    measured.database_seconds += database.seconds_used() - used_database
    for client in connections:
        client.close()


async def _ask(
    operation: Read | Write,
    session: Session,
    client: Client,
    measured: Measured,
    end: float,
    least: int,
) -> None:
    """One client, until the time is over or nobody is left to change."""
    while perf_counter() < end or measured.count < least:
        if isinstance(operation, Read):
            path = operation.draw(session.cloud, session.random)
            reply = await client.request("GET", path, microversion=operation.microversion)
        else:
            done = await operation.step(session, client)
            if done is None:
                return
            reply = done
        measured.times.append(reply.seconds)
        measured.size += len(reply.body)
        measured.conflicts += reply.status == 409
        measured.errors += reply.status >= 400 and reply.status != 409
