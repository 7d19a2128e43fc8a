# SPDX-License-Identifier: Apache-2.0
"""The inventories and all allocations of several providers at once: Placement's reshaper."""

from dataclasses import dataclass
from typing import Any

from trueup.reconcile.changes import allocations
from trueup.reconcile.changes.provider_parts import documents, fields_by_class
from trueup.reconcile.changes.target import NOT_AS_PLANNED, Found, Reply, reply_of
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import AccessDenied
from trueup.reconcile.steps import (
    AllocationsOf,
    Change,
    Inventories,
    Tree,
    TreeContents,
    Version,
    digest,
    held_in,
)

# The reshaper came with 1.30 (Rocky).
RESHAPER = 30
# Upstream's policy lets only services reshape; the admin role may do everything else.
SERVICE = "service"
NO_CONTENT = 204


def read(target: Tree, cloud: Cloud) -> Found:
    """What all providers have and all consumers hold.

    The version has digests of inventories and generations of consumers. Generations of providers
    would be useless: on a busy host they move all the time, and Placement itself checks them when
    the change is written.
    """
    stocks = {uuid: _stock(uuid, cloud) for uuid in target.providers}
    held = allocations.read(AllocationsOf(target.consumers), cloud)
    by_provider = {uuid: stock.inventories.by_class for uuid, stock in stocks.items() if stock}
    version: dict[str, int | str | None] = {
        uuid: digest(stock.inventories) if stock else None for uuid, stock in stocks.items()
    }
    return Found(TreeContents(by_provider, held_in(held.state)), version | dict(held.version))


def write(change: Change, cloud: Cloud) -> Reply:
    """Write everything at once, or nothing. The inventories are compared just before."""
    assert isinstance(change.target, Tree)
    assert isinstance(change.after, TreeContents)
    stocks = {uuid: _stock(uuid, cloud) for uuid in change.target.providers}
    for uuid, stock in stocks.items():
        if (digest(stock.inventories) if stock else None) != change.version[uuid]:
            return NOT_AS_PLANNED
    typed = allocations.typed(change, cloud)
    body: dict[str, Any] = {
        "inventories": {
            uuid: {
                "resource_provider_generation": stock.generation,
                "inventories": documents(change.after.inventories[uuid]),
            }
            for uuid, stock in stocks.items()
            if stock is not None
        },
        "allocations": allocations.bodies(change, change.version, typed),
    }
    minor = allocations.WITH_TYPES if typed else allocations.without_types(cloud)
    response = cloud.placement.send("POST", "/reshaper", body, minor)
    try:
        return reply_of(response, NO_CONTENT, version_after(change))
    except AccessDenied as denied:
        raise AccessDenied(denied.source, denied.reason, role=SERVICE) from denied


def version_after(change: Change) -> Version:
    """Each consumer's generation plus one, and the digests of the written inventories."""
    assert isinstance(change.after, TreeContents)
    stocks = {uuid: digest(Inventories(rows)) for uuid, rows in change.after.inventories.items()}
    return {**stocks, **allocations.version_after(change)}


@dataclass(frozen=True, slots=True)
class _Stock:
    """The inventories of a provider, and the generation at which they were read."""

    inventories: Inventories
    generation: int


def _stock(provider: str, cloud: Cloud) -> _Stock | None:
    row = cloud.placement.document(f"/resource_providers/{provider}/inventories")
    if row is None:
        return None
    fields = fields_by_class(row["inventories"])
    return _Stock(Inventories(fields), row["resource_provider_generation"])
