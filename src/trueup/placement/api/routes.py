# SPDX-License-Identifier: Apache-2.0
"""The table of routes: method, URL, handler, and the microversions at which it exists."""

from collections.abc import Callable
from dataclasses import dataclass

from trueup.placement.api.handlers import (
    aggregates,
    allocations,
    candidates,
    export,
    inventories,
    providers,
    reshaper,
    resource_classes,
    root,
    traits,
    usages,
)
from trueup.placement.api.http import Answer
from trueup.placement.api.policies import RULE_OF
from trueup.placement.api.versions import NEWEST, V

Handler = Callable[..., Answer]

_PROVIDER = "/resource_providers/{uuid}"


@dataclass(frozen=True, slots=True)
class Route:
    """One row of the table.

    `earlier` is the status for clients of an older microversion. A route that `takes` or `answers`
    JSON refuses clients that send or accept another type.
    """

    method: str
    url: str
    handler: Handler
    since: V = V.INITIAL
    until: V = NEWEST
    earlier: int = 404
    takes: bool = False
    answers: bool = False
    media_first: bool = False
    """PARITY: the media type is checked before the microversion."""


def _get(url: str, handler: Handler, since: V = V.INITIAL, *, answers: bool = True) -> Route:
    return Route("GET", url, handler, since, answers=answers)


def _post(url: str, handler: Handler, since: V = V.INITIAL) -> Route:
    return Route("POST", url, handler, since, takes=True)


def _put(url: str, handler: Handler, since: V = V.INITIAL, *, takes: bool = True) -> Route:
    return Route("PUT", url, handler, since, takes=takes)


def _delete(url: str, handler: Handler, since: V = V.INITIAL) -> Route:
    return Route("DELETE", url, handler, since)


ROUTES: tuple[Route, ...] = (
    _get("/", root.get_root, answers=False),
    _get("/resource_classes", resource_classes.list_resource_classes, V.RESOURCE_CLASSES),
    _post("/resource_classes", resource_classes.post_resource_class, V.RESOURCE_CLASSES),
    _get("/resource_classes/{name}", resource_classes.get_resource_class, V.RESOURCE_CLASSES),
    Route(
        "PUT",
        "/resource_classes/{name}",
        resource_classes.rename_resource_class,
        since=V.RESOURCE_CLASSES,
        until=V.TRAITS,
        takes=True,
    ),
    _put(
        "/resource_classes/{name}",
        resource_classes.put_resource_class,
        V.PUT_CLASS_WITHOUT_BODY,
        takes=False,
    ),
    _delete("/resource_classes/{name}", resource_classes.delete_resource_class, V.RESOURCE_CLASSES),
    _get("/resource_providers", providers.list_providers),
    _post("/resource_providers", providers.post_provider),
    _get(_PROVIDER, providers.get_provider),
    _delete(_PROVIDER, providers.delete_provider),
    _put(_PROVIDER, providers.put_provider),
    _get(f"{_PROVIDER}/inventories", inventories.get_inventories),
    _post(f"{_PROVIDER}/inventories", inventories.post_inventory),
    _put(f"{_PROVIDER}/inventories", inventories.put_inventories),
    Route(
        "DELETE",
        f"{_PROVIDER}/inventories",
        inventories.delete_inventories,
        since=V.DELETE_INVENTORIES,
        earlier=405,
    ),
    _get(f"{_PROVIDER}/inventories/{{resource_class}}", inventories.get_inventory),
    _put(f"{_PROVIDER}/inventories/{{resource_class}}", inventories.put_inventory),
    _delete(f"{_PROVIDER}/inventories/{{resource_class}}", inventories.delete_inventory),
    _get(f"{_PROVIDER}/usages", usages.get_provider_usages),
    Route(
        "GET",
        f"{_PROVIDER}/aggregates",
        aggregates.get_aggregates,
        since=V.AGGREGATES,
        answers=True,
        media_first=True,
    ),
    Route(
        "PUT",
        f"{_PROVIDER}/aggregates",
        aggregates.put_aggregates,
        since=V.AGGREGATES,
        takes=True,
        media_first=True,
    ),
    _get(f"{_PROVIDER}/allocations", allocations.get_provider_allocations),
    _post("/allocations", allocations.post_allocations, V.POST_ALLOCATIONS),
    _get("/allocations/{consumer_uuid}", allocations.get_allocations),
    _put("/allocations/{consumer_uuid}", allocations.put_allocations),
    _delete("/allocations/{consumer_uuid}", allocations.delete_allocations),
    _get("/allocation_candidates", candidates.list_candidates, V.CANDIDATES),
    _get("/traits", traits.list_traits, V.TRAITS),
    _get("/traits/{name}", traits.get_trait, V.TRAITS, answers=False),
    _put("/traits/{name}", traits.put_trait, V.TRAITS, takes=False),
    _delete("/traits/{name}", traits.delete_trait, V.TRAITS),
    _get(f"{_PROVIDER}/traits", traits.get_provider_traits, V.TRAITS),
    _put(f"{_PROVIDER}/traits", traits.put_provider_traits, V.TRAITS),
    _delete(f"{_PROVIDER}/traits", traits.delete_provider_traits, V.TRAITS),
    _get("/usages", usages.get_usages, V.PROJECT_USAGES),
    _post("/reshaper", reshaper.post_reshape, V.RESHAPER),
)

ADDITIONS: tuple[Route, ...] = (_get("/trueup/export", export.get_export, answers=False),)
"""Routes that upstream does not have."""

EVERY_ROUTE = (*ROUTES, *ADDITIONS)


def rule_of(route: Route) -> str | None:
    """The policy rule that authorizes a route; None: everybody may, or the handler asks itself."""
    if route.handler is root.get_root or route.handler is usages.get_usages:
        return None
    return RULE_OF[f"{route.method} {route.url}"]
