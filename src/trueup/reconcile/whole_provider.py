# SPDX-License-Identifier: Apache-2.0
"""A resource provider with all that belongs to it alone, as frozen values that a plan holds."""

from collections.abc import Mapping
from hashlib import sha256

import msgspec

# Resource class → field → value, as Placement's API has them (`total`, `allocation_ratio`, ...).
InventoryValues = Mapping[str, Mapping[str, int | float]]


class WholeProvider(msgspec.Struct, frozen=True, tag="whole-provider"):
    """Target: whether a resource provider exists, with its inventories, traits and aggregates.

    Without `aggregates` it does not matter which it is in: Nova takes the provider of a compute
    service out of them before it deletes it, and may fail in between.
    """

    provider: str
    aggregates: bool = True


class ProviderContents(msgspec.Struct, frozen=True, tag="whole-provider"):
    """A provider without its allocations and children: it has none of these when it is deleted."""

    name: str
    parent: str | None
    inventories: InventoryValues
    traits: tuple[str, ...]
    aggregates: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Its version. The generation would not do: a plan first releases allocations, and each of
        these writes raises the generation."""
        return sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()
