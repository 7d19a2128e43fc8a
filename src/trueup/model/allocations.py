# SPDX-License-Identifier: Apache-2.0
"""Consumers, their allocations, and the rule that usage never grows above capacity."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from trueup.model.errors import (
    AllocationToUnknownProvider,
    CapacityExceeded,
    ConstraintsViolated,
    NotAllocatable,
    ResourceClassNotFound,
    StaleConsumer,
)
from trueup.model.generations import UNCHECKED, ExpectedGeneration
from trueup.model.inventories import InventoryWithUsage

ProviderResource = tuple[str, str]
"""The UUID of a provider and the name of one of its resource classes."""


@dataclass(frozen=True, slots=True)
class Consumer:
    """A holder of allocations; `type` is None if no client has set one."""

    id: int
    uuid: str
    project_id: str
    user_id: str
    generation: int
    type: str | None = None


class ConsumerRef(NamedTuple):
    """Identity and generation of an existing consumer."""

    id: int
    uuid: str
    generation: int


@dataclass(frozen=True, slots=True)
class Allocation:
    """An amount of one class on one provider, held by one consumer."""

    provider_uuid: str
    resource_class: str
    amount: int
    provider_generation: int | None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ConsumerAllocations:
    """All allocations that a consumer is to have. Without amounts the consumer is deleted.

    A `type` of None keeps the type of a consumer that exists.
    """

    consumer_uuid: str
    project_id: str
    user_id: str
    amounts: Mapping[ProviderResource, int] = field(default_factory=dict)
    type: str | None = None
    expected_generation: ExpectedGeneration = UNCHECKED


def refuse_stale_consumers(
    wanted: Iterable[ConsumerAllocations], consumers: Mapping[str, ConsumerRef]
) -> None:
    """Raise StaleConsumer for the first consumer whose generation is not the expected one."""
    for allocations in wanted:
        known = consumers.get(allocations.consumer_uuid)
        actual = known.generation if known else None
        if (
            allocations.expected_generation is not UNCHECKED
            and allocations.expected_generation != actual
        ):
            raise StaleConsumer(allocations.consumer_uuid, actual, allocations.expected_generation)


def refuse_unknown_names(
    wanted: Collection[ProviderResource], providers: Collection[str], class_ids: Collection[str]
) -> None:
    """Raise AllocationToUnknownProvider, or else ResourceClassNotFound, for the first unknown name.

    `providers` and `class_ids` contain the UUIDs and the names of those that exist.
    """
    for uuid, _ in wanted:
        if uuid not in providers:
            raise AllocationToUnknownProvider(uuid)
    for _, resource_class in wanted:
        if resource_class not in class_ids:
            raise ResourceClassNotFound(resource_class)


def refuse_overcommit(
    wanted: Sequence[ConsumerAllocations],
    held: Mapping[str, Mapping[ProviderResource, int]],
    inventories: Mapping[ProviderResource, InventoryWithUsage],
) -> None:
    """Raise NotAllocatable, or a subclass, for an amount without inventory, or that does not fit.

    `held` is what these consumers hold now; it is part of the usage in `inventories`. Usage that
    exceeds the capacity already may stay, but not grow.
    """
    with_inventory = {provider for provider, _ in inventories}
    if not all(
        provider in with_inventory for allocations in wanted for provider, _ in allocations.amounts
    ):
        raise _no_inventories(wanted, with_inventory)
    freed: Counter[ProviderResource] = Counter()
    for allocations in wanted:
        freed.update(held.get(allocations.consumer_uuid, {}))
    added: Counter[ProviderResource] = Counter()
    for allocations in wanted:
        for resource, amount in allocations.amounts.items():
            present = inventories.get(resource)
            if present is None:
                raise NotAllocatable(*resource)
            inventory = present.inventory
            fits = inventory.min_unit <= amount <= inventory.max_unit
            if not fits or amount % inventory.step_size:
                raise ConstraintsViolated(*resource)
            added[resource] += amount
            after = present.used - freed[resource] + added[resource]
            limit = (inventory.total - inventory.reserved) * inventory.allocation_ratio
            if after > limit and after > present.used:
                raise CapacityExceeded(*resource)


def _no_inventories(
    wanted: Sequence[ConsumerAllocations], with_inventory: Collection[str]
) -> NotAllocatable:
    """The error that names all providers without an inventory of any wanted class.

    PARITY: upstream looks for such providers before it looks at amounts.
    """
    resources = [resource for allocations in wanted for resource in allocations.amounts]
    without = dict.fromkeys(uuid for uuid, _ in resources if uuid not in with_inventory)
    classes = dict.fromkeys(resource_class for _, resource_class in resources)
    return NotAllocatable(", ".join(without), ", ".join(classes))
