# SPDX-License-Identifier: Apache-2.0
"""Inventories: how much a provider has of a resource class, and how it may be allocated."""

from dataclasses import dataclass
from datetime import datetime

from trueup.model.errors import BadCapacity
from trueup.model.names import MAX_INTEGER


@dataclass(frozen=True, slots=True)
class Inventory:
    """Amounts are in the unit of the resource class; `modified_at` is UTC, None if new."""

    resource_class: str
    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = MAX_INTEGER
    step_size: int = 1
    allocation_ratio: float = 1.0
    modified_at: datetime | None = None

    @property
    def capacity(self) -> int:
        """The most that may be allocated, in whole units."""
        return int((self.total - self.reserved) * self.allocation_ratio)


@dataclass(frozen=True, slots=True)
class InventoryWithUsage:
    """An inventory, and how much of it is allocated."""

    inventory: Inventory
    used: int


def refuse_bad_capacity(provider: str, inventory: Inventory, *, may_reserve_all: bool) -> None:
    """Raise BadCapacity if the capacity is negative, or 0 without `may_reserve_all`."""
    least = 0 if may_reserve_all else 1
    if inventory.capacity < least:
        raise BadCapacity(provider, inventory.resource_class, may_reserve_all)
