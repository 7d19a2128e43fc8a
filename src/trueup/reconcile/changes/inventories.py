# SPDX-License-Identifier: Apache-2.0
"""All inventories of a provider, replaced at its generation."""

from collections.abc import Mapping
from typing import Any

import msgspec

from trueup.reconcile.changes.target import Found, Reply, generation_after, reply_of
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import Change, Inventories, InventoriesOf, InventoryFields, Version

OK = 200


def read(target: InventoriesOf, cloud: Cloud) -> Found:
    """Every inventory; the version is the provider's generation."""
    row = cloud.placement.document(f"/resource_providers/{target.provider}/inventories")
    if row is None:
        return Found(None, {target.provider: None})
    version = {target.provider: row["resource_provider_generation"]}
    return Found(Inventories(fields_by_class(row["inventories"])), version)


def write(change: Change, cloud: Cloud) -> Reply:
    """Replace all inventories. Placement refuses to remove one that is allocated."""
    assert isinstance(change.target, InventoriesOf)
    assert isinstance(change.after, Inventories)
    uuid = change.target.provider
    body = {
        "resource_provider_generation": change.version[uuid],
        "inventories": documents(change.after.by_class),
    }
    path = f"/resource_providers/{uuid}/inventories"
    return reply_of(cloud.placement.send("PUT", path, body), OK, version_after(change))


def version_after(change: Change) -> Version:
    """A replace moves the provider's generation by one."""
    return generation_after(change)


def fields_by_class(rows: Mapping[str, Any]) -> dict[str, InventoryFields]:
    """Inventories from Placement's document of them."""
    return {name: msgspec.convert(row, InventoryFields) for name, row in sorted(rows.items())}


def documents(inventories: Mapping[str, InventoryFields]) -> dict[str, dict[str, Any]]:
    """Inventories as Placement takes them."""
    return {name: msgspec.structs.asdict(row) for name, row in inventories.items()}
