# SPDX-License-Identifier: Apache-2.0
"""Inventories: how much there is of one class on one provider, and what may be taken of it."""

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
        """What usage may grow to, in whole units."""
        return int((self.total - self.reserved) * self.allocation_ratio)


@dataclass(frozen=True, slots=True)
class Stock:
    """An inventory together with what consumers hold of it."""

    inventory: Inventory
    used: int


def refuse_bad_capacity(provider: str, inventory: Inventory, *, may_reserve_all: bool) -> None:
    """Raise BadCapacity if too much is reserved; all of it only where that is allowed."""
    least = 0 if may_reserve_all else 1
    if inventory.capacity < least:
        raise BadCapacity(provider, inventory.resource_class, may_reserve_all)
