# SPDX-License-Identifier: Apache-2.0
"""All inventories of a provider, replaced at its generation."""

from collections.abc import Mapping
from typing import Any

import msgspec

from trueup.reconcile.changes.provider_parts import read_part, replace_part
from trueup.reconcile.changes.target import Found, Reply, generation_after
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import Change, Inventories, InventoriesOf, InventoryFields

version_after = generation_after


def read(target: InventoriesOf, cloud: Cloud) -> Found:
    """Every inventory."""
    return read_part(
        "inventories", target.provider, cloud, lambda rows: Inventories(fields_by_class(rows))
    )


def write(change: Change, cloud: Cloud) -> Reply:
    """Replace all inventories. Placement refuses to remove one that is allocated."""
    assert isinstance(change.after, Inventories)
    return replace_part("inventories", change, cloud, documents(change.after.by_class), read)


def fields_by_class(rows: Mapping[str, Any]) -> dict[str, InventoryFields]:
    """Inventories from Placement's document of them."""
    return {name: msgspec.convert(row, InventoryFields) for name, row in sorted(rows.items())}


def documents(inventories: Mapping[str, InventoryFields]) -> dict[str, dict[str, Any]]:
    """Inventories as Placement takes them."""
    return {name: msgspec.structs.asdict(row) for name, row in inventories.items()}
