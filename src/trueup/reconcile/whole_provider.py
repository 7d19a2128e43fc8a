# SPDX-License-Identifier: Apache-2.0
"""A resource provider with all that belongs to it alone, as frozen values that a plan holds."""

from collections.abc import Mapping
from hashlib import sha256

import msgspec

# Resource class → field → value, as Placement's API has them (`total`, `allocation_ratio`, ...).
InventoryValues = Mapping[str, Mapping[str, int | float]]


class WholeProvider(msgspec.Struct, frozen=True, tag="whole-provider"):
    """A resource provider with its inventories, traits and aggregates: whether all that exists."""

    provider: str


class ProviderContents(msgspec.Struct, frozen=True, tag="whole-provider"):
    """All of a provider but its allocations and children, which it cannot have when deleted."""

    name: str
    parent: str | None
    inventories: InventoryValues
    traits: tuple[str, ...]
    aggregates: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Its version. Not the generation, which every allocation moves, also those that a plan
        releases before it deletes the provider."""
        return sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()
