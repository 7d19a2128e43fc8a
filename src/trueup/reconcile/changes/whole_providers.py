# SPDX-License-Identifier: Apache-2.0
"""A resource provider with all that belongs to it alone: deleted, or made again as it was."""

from dataclasses import replace
from typing import Any

from msgspec import structs

from trueup.reconcile.changes import providers
from trueup.reconcile.changes.provider_parts import AGGREGATES, INVENTORIES, TRAITS, documents
from trueup.reconcile.changes.target import NOT_AS_PLANNED, Found, Reply, reply_of
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import (
    Aggregates,
    AggregatesOf,
    Change,
    Inventories,
    InventoriesOf,
    ProviderContents,
    ProviderFields,
    ProviderNode,
    Traits,
    TraitsOf,
    Version,
    WholeProvider,
)

OK, NO_CONTENT = 200, 204


def read(target: WholeProvider, cloud: Cloud) -> Found:
    """Everything that a delete takes away; the version is a digest of it."""
    uuid = target.provider
    node = providers.read(ProviderNode(uuid), cloud)
    stock = INVENTORIES.read(InventoriesOf(uuid), cloud).state
    marks = TRAITS.read(TraitsOf(uuid), cloud).state
    near = AGGREGATES.read(AggregatesOf(uuid), cloud).state if target.aggregates else Aggregates(())
    match node.state, stock, marks, near:
        case ProviderFields(name, parent), Inventories(by_class), Traits(names), Aggregates(uuids):
            contents = ProviderContents(name, parent, documents(by_class), names, uuids)
            return Found(contents, {uuid: contents.digest})
    return Found(None, {uuid: None})


def write(change: Change, cloud: Cloud) -> Reply:
    """Delete it, or make it again.

    PARITY: Placement compares no generation when it deletes a provider. So we compare the version
    just before. Placement itself refuses while the provider has allocations or children.
    """
    assert isinstance(change.target, WholeProvider)
    found = read(change.target, cloud)
    if found.version != change.version or found.state != change.before:
        return NOT_AS_PLANNED
    if change.after is None:
        return _deleted(change.target.provider, cloud)
    assert isinstance(change.after, ProviderContents)
    return _made(change.target.provider, change.after, cloud)


def tidy(change: Change, cloud: Cloud) -> None:
    """Delete the provider of a change that was killed between the requests that make and fill it.

    SAFETY: only if the journal says that we were about to make it. It is still as one of these
    requests leaves it, so nobody uses it yet. Placement itself refuses to delete a provider with
    allocations or children.
    """
    assert isinstance(change.target, WholeProvider)
    if change.before is None and isinstance(change.after, ProviderContents):
        found = read(change.target, cloud).state
        if found != change.after and found in _half_made(change.after):
            _deleted(change.target.provider, cloud)


def _half_made(wanted: ProviderContents) -> tuple[object, ...]:
    """The states that `_made` leaves after each of its requests but the last."""
    with_traits = structs.replace(wanted, aggregates=())
    with_inventories = structs.replace(with_traits, traits=())
    return with_traits, with_inventories, structs.replace(with_inventories, inventories={})


def version_after(change: Change) -> Version:
    """The digest of what is written; a deleted provider has none."""
    after = change.after
    digest = after.digest if isinstance(after, ProviderContents) else None
    return dict.fromkeys(change.version, digest)


def _deleted(uuid: str, cloud: Cloud) -> Reply:
    response = cloud.placement.send("DELETE", f"/resource_providers/{uuid}", None)
    return reply_of(response, NO_CONTENT, {uuid: None})


def _made(uuid: str, wanted: ProviderContents, cloud: Cloud) -> Reply:
    """Make the provider and fill it. If that fails, delete it again: nobody uses it yet."""
    minor = min(cloud.placement.newest_minor(), providers.RE_PARENTING)
    body: dict[str, Any] = {
        "name": wanted.name,
        "uuid": uuid,
        "parent_provider_uuid": wanted.parent,
    }
    made = reply_of(cloud.placement.send("POST", "/resource_providers", body, minor), OK)
    if not made.accepted:
        return made
    parts: tuple[tuple[str, Any], ...] = (
        ("inventories", wanted.inventories),
        ("traits", list(wanted.traits)),
        ("aggregates", list(wanted.aggregates)),
    )
    for name, content in parts:
        # Each part is read with the generation at which it may be replaced.
        row = cloud.placement.document(f"/resource_providers/{uuid}/{name}") or {}
        generation = row.get("resource_provider_generation")
        body = {"resource_provider_generation": generation, name: content}
        filled = reply_of(
            cloud.placement.send("PUT", f"/resource_providers/{uuid}/{name}", body), OK
        )
        if not filled.accepted:
            _deleted(uuid, cloud)
            return filled
    return replace(made, version={uuid: wanted.digest})
