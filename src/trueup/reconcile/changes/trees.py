# SPDX-License-Identifier: Apache-2.0
"""Inventories of several providers and all allocations of them, at once: Placement's reshaper."""

from typing import Any

from trueup.reconcile.changes import allocations, inventories
from trueup.reconcile.changes.target import Found, Reply, reply_of
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import AllocationsOf, Change, Tree, TreeContents, Version, held_in

# The reshaper came with 1.30 (Rocky).
RESHAPER = 30
NO_CONTENT = 204


def read(target: Tree, cloud: Cloud) -> Found:
    """What all providers have and all consumers hold; the version are their generations."""
    by_provider = {}
    version: dict[str, int | str | None] = {}
    for uuid in target.providers:
        row = cloud.placement.document(f"/resource_providers/{uuid}/inventories")
        version[uuid] = row["resource_provider_generation"] if row else None
        if row is not None:
            by_provider[uuid] = inventories.fields_by_class(row["inventories"])
    held = allocations.read(AllocationsOf(target.consumers), cloud)
    return Found(TreeContents(by_provider, held_in(held.state)), version | dict(held.version))


def write(change: Change, cloud: Cloud) -> Reply:
    """Everything at once, or nothing."""
    assert isinstance(change.target, Tree)
    assert isinstance(change.after, TreeContents)
    typed = allocations.typed(change, cloud)
    body: dict[str, Any] = {
        "inventories": {
            uuid: {
                "resource_provider_generation": change.version[uuid],
                "inventories": inventories.documents(rows),
            }
            for uuid, rows in change.after.inventories.items()
        },
        "allocations": allocations.bodies(change, change.version, typed),
    }
    minor = allocations.WITH_TYPES if typed else allocations.without_types(cloud)
    response = cloud.placement.send("POST", "/reshaper", body, minor)
    return reply_of(response, NO_CONTENT)


def version_after(change: Change) -> Version:
    """A consumer moves by one; how far a provider moves is an implementation's own affair."""
    assert isinstance(change.target, Tree)
    moved = allocations.version_after(change)
    return {one: moved[one] for one in change.target.consumers}
