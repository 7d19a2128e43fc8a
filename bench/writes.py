# SPDX-License-Identifier: Apache-2.0
"""The operations that write. Each has a step that is measured, and a preparation that is not."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bench.client import Client, Reply
from bench.session import Consumer, Session, Subject

_CONSUMERS_TO_KEEP, _CONSUMERS_TO_DELETE = 40, 60
_CHOICES = 10

Step = Callable[[Session, Client], Awaitable[Reply | None]]
Preparation = Callable[[Session, Client], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Write:
    """An operation that changes the ledger. A step returns None if no consumer is left to change.

    `prepare` is called before each turn and is not measured.
    """

    name: str
    step: Step
    prepare: Preparation


def having_consumers(count: int) -> Preparation:
    """A preparation that makes this many consumers exist."""

    async def prepare(session: Session, client: Client) -> None:
        await session.have_living(client, count)

    return prepare


def _looking_at(what: str) -> Preparation:
    async def prepare(session: Session, client: Client) -> None:
        await session.look_at_hosts(client, what)

    return prepare


async def _have_a_wide_host(session: Session, client: Client) -> None:
    await session.have_living(client, 0)
    await session.make_room(client, session.cloud.hosts[0])


async def _put(session: Session, client: Client, wanted: Consumer) -> Reply:
    body = session.body(wanted.held, wanted.generation or None)
    reply = await client.request("PUT", f"/allocations/{wanted.uuid}", json.dumps(body).encode())
    if reply.status == 204:
        wanted.generation += 1
        session.living.append(wanted)
    return reply


async def _claim(session: Session, client: Client) -> Reply | None:
    return await _put(session, client, Consumer(session.new_uuid(), 0, session.room()))


async def _claim_hot(session: Session, client: Client) -> Reply | None:
    """Claim; all clients use the same host."""
    host = session.cloud.hosts[0]
    room = next(room for room in session.cloud.rooms)
    first = next(iter(room.values()))
    held = {host: {"DISK_GB": 1} if session.cloud.shape == "nested" else first}
    return await _put(session, client, Consumer(session.new_uuid(), 0, held))


async def _replace(session: Session, client: Client) -> Reply | None:
    """Give a consumer other amounts on the same host, as after a resize."""
    if not session.living:
        return None
    one = session.living.popleft()
    larger = one.generation % 2 + 1
    one.held = {
        provider: {name: larger * max(1, amount // 2) for name, amount in amounts.items()}
        for provider, amounts in one.held.items()
    }
    return await _put(session, client, one)


async def _move(session: Session, client: Client) -> Reply | None:
    """Move as Nova does: the old host's allocation goes to a new consumer."""
    if not session.living:
        return None
    one, target = session.living.popleft(), session.room()
    migration = Consumer(session.new_uuid(), 1, one.held)
    body = {
        migration.uuid: session.body(one.held, None, "MIGRATION"),
        one.uuid: session.body(target, one.generation),
    }
    reply = await client.request("POST", "/allocations", json.dumps(body).encode())
    if reply.status == 204:
        one.generation, one.held = one.generation + 1, target
        session.living += [migration, one]
    return reply


async def _delete(session: Session, client: Client) -> Reply | None:
    if not session.living:
        return None
    return await client.request("DELETE", f"/allocations/{session.living.pop().uuid}")


async def _write_subject(
    session: Session, client: Client, what: str, change: Callable[[Subject], None]
) -> Reply | None:
    """PUT changed inventories, traits or aggregates. Each client writes to a different host."""
    if not session.subjects:
        return None
    subject = session.subjects.popleft()
    change(subject)
    body = {"resource_provider_generation": subject.generation, what: subject.said}
    path = f"/resource_providers/{subject.uuid}/{what}"
    reply = await client.request("PUT", path, json.dumps(body).encode())
    if reply.status == 200:
        subject.generation = json.loads(reply.body)["resource_provider_generation"]
        session.subjects.append(subject)
    return reply


async def _put_inventories(session: Session, client: Client) -> Reply | None:
    def change(subject: Subject) -> None:
        for inventory in subject.said.values():
            inventory["total"] += 1 if subject.generation % 2 else -1

    return await _write_subject(session, client, "inventories", change)


async def _put_traits(session: Session, client: Client) -> Reply | None:
    def change(subject: Subject) -> None:
        others = [name for name in subject.said if name != "CUSTOM_RARE"]
        has_it = len(others) < len(subject.said)
        subject.said = others if has_it else [*others, "CUSTOM_RARE"]

    return await _write_subject(session, client, "traits", change)


async def _put_aggregates(session: Session, client: Client) -> Reply | None:
    def change(subject: Subject) -> None:
        rack = session.cloud.racks[0]
        others = [uuid for uuid in subject.said if uuid != rack]
        subject.said = others if rack in subject.said else [*others, rack]

    return await _write_subject(session, client, "aggregates", change)


async def _schedule(session: Session, client: Client) -> Reply | None:
    """Act as a scheduler: get candidates, claim one of them, then delete the allocation."""
    path = "/allocation_candidates?resources=VCPU:1,MEMORY_MB:16&limit="
    asked = await client.request("GET", f"{path}{_CHOICES}")
    if asked.status != 200:
        return asked
    candidate = session.random.choice(json.loads(asked.body)["allocation_requests"])
    body = {**session.body({}, None), **candidate}
    uuid = session.new_uuid()
    claimed = await client.request("PUT", f"/allocations/{uuid}", json.dumps(body).encode())
    seconds = asked.seconds + claimed.seconds
    if claimed.status != 204:
        return Reply(claimed.status, claimed.body, seconds)
    deleted = await client.request("DELETE", f"/allocations/{uuid}")
    return Reply(deleted.status, asked.body, seconds + deleted.seconds)


async def _nothing(session: Session, client: Client) -> None:
    """There is nothing to prepare."""


WRITES = (
    Write("claim", _claim, having_consumers(_CONSUMERS_TO_KEEP)),
    Write("replace", _replace, having_consumers(_CONSUMERS_TO_KEEP)),
    Write("move", _move, having_consumers(_CONSUMERS_TO_KEEP)),
    Write("delete", _delete, having_consumers(_CONSUMERS_TO_DELETE)),
    Write("claim_hot", _claim_hot, _have_a_wide_host),
    Write("put_inventories", _put_inventories, _looking_at("inventories")),
    Write("put_traits", _put_traits, _looking_at("traits")),
    Write("put_aggregates", _put_aggregates, _looking_at("aggregates")),
    Write("schedule", _schedule, _nothing),
)
