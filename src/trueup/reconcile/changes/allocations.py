# SPDX-License-Identifier: Apache-2.0
"""Allocations of one or several consumers: written with their generations, in one request."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from trueup.reconcile.changes.target import Found, Reply, reply_of
from trueup.reconcile.facts import Allocations, Provider
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import AllocationsOf, Change, Held, Version, held_in

# Up to 1.37 a consumer keeps its type, and a new consumer has none.
WITHOUT_TYPES = 37
WITH_TYPES = 38
NO_CONTENT = 204
# Placement's refusal of a write that gives no generation for a consumer that has one.
_EMPTY = re.compile(r"expected (\d+) but got None")
# No consumer was ever written so often. Placement refuses a write at this generation, and names the
# right one.
_NEVER = 2**31 - 1
_RIGHT = re.compile(rf"expected (\d+) but got {_NEVER}")


def read(target: AllocationsOf, cloud: Cloud) -> Found:
    """What each consumer holds; the version is their generations."""
    holdings = {consumer: cloud.placement.holding(consumer) for consumer in target.consumers}
    return Found(
        Held({consumer: row.allocations for consumer, row in holdings.items()}),
        {consumer: row.generation for consumer, row in holdings.items()},
    )


def write(change: Change, cloud: Cloud) -> Reply:
    """Replace all that the consumers hold, at once. A refusal may name consumers' generations.

    A consumer that holds nothing may still have a row with a generation, which Placement does not
    show: after a refused write of upstream (nova-facts, Placement 4), or after somebody deleted its
    allocations with SQL. SAFETY: it holds nothing since the refusal named the generation, and any
    other write changes the generation, so a write at that generation is guarded too.
    """
    reply = _send(change, cloud)
    if reply.accepted or not reply.definite or _number_in(_EMPTY, reply) is None:
        return reply
    left = _generations_left(change, reply, cloud)
    if any(cloud.placement.holding(consumer).allocations is not None for consumer in left):
        return reply
    return replace(reply, named={**change.version, **left})


def without_inventory(
    held: Mapping[str, Allocations | None], providers: Mapping[str, Provider]
) -> Iterator[tuple[str, str, str]]:
    """The consumers that hold a class of a provider without inventory of it, and the amount."""
    return (
        (consumer, provider, f"{name}={amount}")
        for consumer, allocations in held.items()
        for provider, row in (allocations.amounts if allocations else {}).items()
        for name, amount in row.items()
        if provider in providers and name not in providers[provider].inventories
    )


def version_after(change: Change) -> Version:
    """A write raises the generation by one; a consumer that is left with nothing is gone.

    SAFETY: a consumer that is gone has no generation, so nothing shows who released it. If we were
    about to, it counts as released by us, even if our write was never sent and somebody else
    released it before the run went on. Calling that unknown would never end, and would prevent the
    undo of every release whose process was killed. An undo could wrongly give back what the
    consumer held when the plan was made; its guard refuses this for an instance that has changed
    since.
    """
    after = held_in(change.after)
    return {
        consumer: None if held is None else (_number(change.version[consumer]) or 0) + 1
        for consumer, held in after.items()
    }


def _number(generation: int | str | None) -> int | None:
    return generation if isinstance(generation, int) else None


def _generations_left(change: Change, reply: Reply, cloud: Cloud) -> dict[str, int | None]:
    """The generation of each consumer that our write gave none; None: it has indeed none.

    The refusal does not say whose generation it names, so several consumers are asked one by one.
    """
    new = [consumer for consumer, generation in change.version.items() if generation is None]
    if len(new) > 1:
        return {consumer: _number_in(_RIGHT, _ask(consumer, change, cloud)) for consumer in new}
    return {consumer: _number_in(_EMPTY, reply) for consumer in new}


def _ask(consumer: str, change: Change, cloud: Cloud) -> Reply:
    """Placement's refusal of a write at a wrong generation."""
    target = AllocationsOf((consumer,))
    before, after = (
        Held({consumer: held_in(state)[consumer]}) for state in (change.before, change.after)
    )
    return _send(Change(target, before, after, {consumer: _NEVER}), cloud)


def _number_in(words: re.Pattern[str], reply: Reply) -> int | None:
    found = words.search(str(reply.reason.fields["words"])) if reply.reason else None
    return int(found[1]) if found else None


def _send(change: Change, cloud: Cloud) -> Reply:
    with_types = typed(change, cloud)
    minor = WITH_TYPES if with_types else without_types(cloud)
    by_consumer = bodies(change, change.version, with_types)
    if len(by_consumer) == 1:
        [(consumer, body)] = by_consumer.items()
        response = cloud.placement.send("PUT", f"/allocations/{consumer}", body, minor)
    else:
        response = cloud.placement.send("POST", "/allocations", by_consumer, minor)
    return reply_of(response, NO_CONTENT, version_after(change))


def typed(change: Change, cloud: Cloud) -> bool:
    """Whether to write the consumers' types: all have one, and Placement keeps types."""
    types = [owner.consumer_type for owner in _owners(change).values()]
    return None not in types and cloud.placement.newest_minor() >= WITH_TYPES


def without_types(cloud: Cloud) -> int:
    """The newest microversion that does not change the types of consumers."""
    return min(cloud.placement.newest_minor(), WITHOUT_TYPES)


def bodies(change: Change, generations: Version, with_types: bool) -> dict[str, dict[str, Any]]:
    """What each consumer should hold, in Placement's form."""
    after = held_in(change.after)
    return {
        consumer: _body(owner, after[consumer], generations[consumer], with_types)
        for consumer, owner in _owners(change).items()
    }


def _owners(change: Change) -> dict[str, Allocations]:
    """Each consumer's allocations after the change or else before it, which name its owner."""
    before, after = held_in(change.before), held_in(change.after)
    owners = {consumer: after[consumer] or before[consumer] for consumer in after}
    return {consumer: owner for consumer, owner in owners.items() if owner is not None}


def _body(
    owner: Allocations, after: Allocations | None, generation: int | str | None, with_types: bool
) -> dict[str, Any]:
    held: Mapping[str, Mapping[str, int]] = after.amounts if after else {}
    body: dict[str, Any] = {
        "allocations": {uuid: {"resources": dict(row)} for uuid, row in held.items()},
        "project_id": owner.project,
        "user_id": owner.user,
        "consumer_generation": generation,
    }
    return body | {"consumer_type": owner.consumer_type} if with_types else body
