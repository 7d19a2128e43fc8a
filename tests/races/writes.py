# SPDX-License-Identifier: Apache-2.0
"""The write requests of the API, each in the variants that can be in each other's way."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.differential.calls import Call
from tests.races.arena import PROCESSORS, Arena

NEWEST = "1.39"
OWN_PARENT: Any = object()


def call(method: str, path: str, body: Any = None, version: str = NEWEST) -> Call:
    return Call(method, path, version, None if body is None else json.dumps(body))


def add(parent: str | None, name: str = "new") -> Callable[[Arena], Call]:
    """Add a provider below another one of the round, or as a root."""

    def made(arena: Arena) -> Call:
        body = {"uuid": arena.uuid(name), "name": arena.named(name)}
        if parent:
            body["parent_provider_uuid"] = arena.uuid(parent)
        return call("POST", "/resource_providers", body)

    return made


def move(name: str, parent: str | None) -> Callable[[Arena], Call]:
    """Put a provider, and what is below it, under another one; None makes it a root."""

    def made(arena: Arena) -> Call:
        body = {
            "name": arena.named(name),
            "parent_provider_uuid": arena.uuid(parent) if parent else None,
        }
        return call("PUT", f"/resource_providers/{arena.uuid(name)}", body)

    return made


def on(
    name: str, method: str, path: str = "", body: Any = None, version: str = NEWEST
) -> Callable[[Arena], Call]:
    """A request about one provider; a body that can be called is made for the round."""

    def made(arena: Arena) -> Call:
        content = body(arena) if callable(body) else body
        return call(method, f"/resource_providers/{arena.uuid(name)}{path}", content, version)

    return made


def named(
    kind: str, name: str, method: str, version: str = NEWEST, renamed: str | None = None
) -> Callable[[Arena], Call]:
    """A request about one resource class or trait."""

    def made(arena: Arena) -> Call:
        body = {"name": arena.custom(renamed)} if renamed else None
        return call(method, f"/{kind}/{arena.custom(name)}", body, version)

    return made


def stock(*classes: str, total: int = 3) -> Callable[[Arena], Any]:
    """All inventories of a provider of the first generation."""

    def made(arena: Arena) -> Any:
        names = [one if one == PROCESSORS else arena.custom(one) for one in classes]
        return {
            "resource_provider_generation": 0,
            "inventories": {name: {"total": total} for name in names},
        }

    return made


def holding(
    arena: Arena, amounts: Mapping[str, int], generation: int | None, project: str = "project"
) -> dict[str, Any]:
    """What a consumer is to hold: processors by the name of the provider."""
    return {
        "allocations": {
            arena.uuid(provider): {"resources": {PROCESSORS: amount}}
            for provider, amount in amounts.items()
        },
        "project_id": arena.named(project),
        "user_id": arena.named("user"),
        "consumer_generation": generation,
        "consumer_type": arena.custom("TYPE").removeprefix("CUSTOM_"),
    }


def claim(
    consumer: str, amounts: Mapping[str, int], generation: int | None = None, project: str = "new"
) -> Callable[[Arena], Call]:
    def made(arena: Arena) -> Call:
        body = holding(arena, amounts, generation, project)
        return call("PUT", f"/allocations/{arena.uuid(consumer)}", body)

    return made


def claims(generations: Mapping[str, int | None], provider: str) -> Callable[[Arena], Call]:
    """Several consumers in one request, each with two processors of the provider."""

    def made(arena: Arena) -> Call:
        body = {
            arena.uuid(consumer): holding(arena, {provider: 2}, generation)
            for consumer, generation in generations.items()
        }
        return call("POST", "/allocations", body)

    return made


def reshape(arena: Arena) -> Call:
    """What `middle` has goes to `leaf`, with what is held of it."""
    inventories = {
        arena.uuid("middle"): {"resource_provider_generation": 0, "inventories": {}},
        arena.uuid("leaf"): stock(PROCESSORS, "FREE")(arena),
    }
    held = {arena.uuid("keeper"): holding(arena, {"leaf": 1}, 1)}
    return call("POST", "/reshaper", {"inventories": inventories, "allocations": held})


def traits_of(*names: str) -> Callable[[Arena], Any]:
    return lambda arena: {
        "resource_provider_generation": 0,
        "traits": [arena.custom(name) for name in names],
    }


def aggregates_of(arena: Arena) -> Any:
    return {"resource_provider_generation": 0, "aggregates": [arena.uuid("aggregate")]}


def one_inventory(name: str, total: int) -> Callable[[Arena], Any]:
    def made(arena: Arena) -> Any:
        body = {"total": total, "resource_provider_generation": 0}
        return body | ({"resource_class": arena.custom(name)} if name != PROCESSORS else {})

    return made


WRITES: Mapping[str, Callable[[Arena], Call]] = {
    "add a root": add(None),
    "add below leaf": add("leaf"),
    "add below twig": add("twig"),
    "add below empty": add("empty", "newer"),
    "rename middle": on(
        "middle", "PUT", "", lambda arena: {"name": arena.named("renamed")}, version="1.13"
    ),
    "move middle below twig": move("middle", "twig"),
    "move other below leaf": move("other", "leaf"),
    "move root below twig": move("root", "twig"),
    "move root below empty": move("root", "empty"),
    "move empty below middle": move("empty", "middle"),
    "move twig below empty": move("twig", "empty"),
    "make leaf a root": move("leaf", None),
    "delete empty": on("empty", "DELETE"),
    "delete leaf": on("leaf", "DELETE"),
    "add an inventory of the free class": on(
        "empty", "POST", "/inventories", one_inventory("FREE", 3)
    ),
    "write all inventories of empty": on("empty", "PUT", "/inventories", stock(PROCESSORS, "FREE")),
    "write all inventories of root": on("root", "PUT", "/inventories", stock(PROCESSORS, total=2)),
    "shrink an inventory of root": on(
        "root", "PUT", f"/inventories/{PROCESSORS}", one_inventory(PROCESSORS, 2)
    ),
    "delete an inventory of twig": on("twig", "DELETE", f"/inventories/{PROCESSORS}"),
    "delete all inventories of twig": on("twig", "DELETE", "/inventories"),
    "give empty the free trait": on("empty", "PUT", "/traits", traits_of("FREE", "WORN")),
    "take the traits of twig": on("twig", "DELETE", "/traits"),
    "make sure of the free trait": named("traits", "FREE", "PUT"),
    "make a trait": named("traits", "NEW", "PUT"),
    "delete the free trait": named("traits", "FREE", "DELETE"),
    "delete the worn trait": named("traits", "WORN", "DELETE"),
    "put empty into an aggregate": on("empty", "PUT", "/aggregates", aggregates_of),
    "put empty into an aggregate, without a generation": on(
        "empty", "PUT", "/aggregates", lambda arena: [arena.uuid("aggregate")], version="1.18"
    ),
    "make a class": named("resource_classes", "NEW", "PUT"),
    "make a class, with a body": lambda arena: call(
        "POST", "/resource_classes", {"name": arena.custom("NEW")}
    ),
    "rename the free class": named("resource_classes", "FREE", "PUT", "1.6", "RENAMED"),
    "delete the free class": named("resource_classes", "FREE", "DELETE"),
    "claim what is left of root": claim("newcomer", {"root": 2}),
    "claim of root and twig": claim("second", {"root": 1, "twig": 2}),
    "claim for two consumers": claims({"third": None, "tenant": 1}, "root"),
    "replace what keeper holds": claim("keeper", {"twig": 2}, 1),
    "replace what keeper holds, for the old project": claim("keeper", {"middle": 2}, 1, "project"),
    "release what keeper holds": lambda arena: call(
        "DELETE", f"/allocations/{arena.uuid('keeper')}"
    ),
    "claim of empty": claim("newcomer", {"empty": 1}),
    "reshape middle into leaf": reshape,
}
"""By what they do, for one round. The generations in them are those that the rows begin with."""
