# SPDX-License-Identifier: Apache-2.0
"""Measures two services in short, alternating turns: A B, B A, A B, ...

Other work on the machine that lasts longer than a turn affects both services. Both and the database
run all the time, but only one gets requests at a time, so the database works only for that one.
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
    """The smallest number of requests in each turn, however long they take."""
    uncounted: int = 2
    """How many requests each client sends first, which are not counted."""


@dataclass(slots=True)
class Measured:
    """The measurements of one operation of one service. Times are in seconds, sizes in bytes."""

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
        """Processor milliseconds of service and database for one request."""
        return 1000 * (self.service_seconds + self.database_seconds) / max(1, self.count)

    def percentile_ms(self, share: float) -> float:
        """The time within which this share of the requests was answered."""
        ordered = sorted(self.times)
        if not ordered:
            return 0.0
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(slots=True)
class Competitor:
    """A service and the session that is used with it."""

    service: Service
    session: Session


async def compare(
    operation: Read | Write,
    clients: int,
    competitors: Sequence[Competitor],
    database: Database,
    effort: Effort,
) -> list[Measured]:
    """Measure one operation with each competitor; the results have their order."""
    results = [Measured() for _ in competitors]
    pairs = list(zip(competitors, results, strict=True))
    # With these each thread opens its connections, and gets its memory from the system.
    warming = Effort(seconds=0.0, turns=1, requests_min=effort.uncounted * clients)
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
    """Send requests as one client, until the time is over or no consumer is left to change."""
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
