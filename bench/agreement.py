# SPDX-License-Identifier: Apache-2.0
"""Checks that two services give equal answers: a ratio between unequal answers means nothing.

Lists are compared without their order. With a limit, each service may choose different candidates:
then their number must be equal, and the other service must know each of them.
"""

import json
import random
import re
from collections.abc import Sequence
from typing import Any

from bench.client import Client, Reply
from bench.reads import Read
from bench.session import Session
from bench.writes import Write

_TIMES = 3


async def disagreements(
    operations: Sequence[Read | Write], sessions: tuple[Session, Session]
) -> list[str]:
    """One line for each operation that the two services answer differently.

    An operation at which the first service, upstream's, fails is not compared.
    """
    found = []
    clients = tuple(session.connect() for session in sessions)
    for operation in operations:
        compare = _compare_reads if isinstance(operation, Read) else _compare_writes
        found += await compare(operation, sessions, clients)
    for client in clients:
        client.close()
    return found


async def _compare_reads(
    operation: Any, sessions: Sequence[Session], clients: Sequence[Client]
) -> list[str]:
    # Not a session's own random numbers: both sessions must still draw the same ones afterwards.
    source = random.Random(operation.name)
    for _ in range(_TIMES):
        path = operation.draw(sessions[0].cloud, source)
        replies = [
            await client.request("GET", path, microversion=operation.microversion)
            for client in clients
        ]
        if replies[0].status >= 500:
            return []
        problem = _difference(replies)
        if problem and "limit=" in path and replies[0].status == replies[1].status:
            problem = await _difference_of_limited(path, replies, clients)
        if problem:
            return [f"{operation.name}: {problem}: GET {path}"]
    return []


async def _compare_writes(
    operation: Any, sessions: Sequence[Session], clients: Sequence[Client]
) -> list[str]:
    """Run the same steps on both services, then compare the inventories of hosts."""
    pairs = tuple(zip(sessions, clients, strict=True))
    for session, client in pairs:
        await operation.prepare(session, client)
    for _ in range(_TIMES):
        replies = [await operation.step(session, client) for session, client in pairs]
        statuses = [reply.status if reply else None for reply in replies]
        if statuses[0] != statuses[1]:
            return [f"{operation.name}: statuses {statuses[0]} and {statuses[1]}"]
    if operation.name == "schedule":
        return []  # each service claimed one of its own candidates
    for host in sessions[0].cloud.hosts[:_TIMES]:
        for part in ("usages", "inventories", "traits", "aggregates", "allocations"):
            path = f"/resource_providers/{host}/{part}"
            problem = _difference([await client.request("GET", path) for client in clients])
            if problem:
                return [f"{operation.name}: afterwards {problem}: GET {path}"]
    return []


def _difference(replies: Sequence[Reply]) -> str | None:
    first, second = replies
    if first.status != second.status:
        return f"statuses {first.status} and {second.status}"
    if first.body == second.body:
        return None
    return None if _content(first) == _content(second) else "different bodies"


async def _difference_of_limited(
    path: str, replies: Sequence[Reply], clients: Sequence[Client]
) -> str | None:
    few = [_candidates(reply) for reply in replies]
    if len(few[0]) != len(few[1]):
        return f"{len(few[0])} and {len(few[1])} candidates"
    everything = re.sub(r"&limit=\d+", "", path)
    every = [_candidates(await client.request("GET", everything)) for client in clients]
    if every[0] != every[1]:
        return "without the limit, different candidates"
    return None if few[1] <= every[0] else "candidates that the other service does not know"


def _candidates(reply: Reply) -> set[str]:
    found = json.loads(reply.body)["allocation_requests"]
    return {json.dumps(_sorted(one), sort_keys=True) for one in found}


def _content(reply: Reply) -> Any:
    return _sorted(json.loads(reply.body)) if reply.body else None


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(one) for key, one in value.items()}
    if isinstance(value, list):
        return sorted(map(_sorted, value), key=lambda one: json.dumps(one, sort_keys=True))
    return value
