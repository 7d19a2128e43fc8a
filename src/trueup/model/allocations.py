# SPDX-License-Identifier: Apache-2.0
"""Consumers, what they hold, and the rule that usage never grows above capacity."""

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
from trueup.model.generations import UNCHECKED, Expected
from trueup.model.inventories import Stock

Place = tuple[str, str]
"""The UUID of a provider and the name of a resource class."""


@dataclass(frozen=True, slots=True)
class Consumer:
    """Who holds allocations; `type` is None when it was never stated."""

    id: int
    uuid: str
    project_id: str
    user_id: str
    generation: int
    type: str | None = None


class KnownConsumer(NamedTuple):
    """What a change of a consumer needs of the one that is there."""

    id: int
    uuid: str
    generation: int


@dataclass(frozen=True, slots=True)
class Allocation:
    """An amount of one class on one provider, held by one consumer."""

    provider_uuid: str
    resource_class: str
    amount: int
    provider_generation: int
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ConsumerAllocations:
    """All that a consumer shall hold; without amounts it shall hold nothing and cease to exist.

    A `type` of None leaves the type of a known consumer as it is.
    """

    consumer_uuid: str
    project_id: str
    user_id: str
    amounts: Mapping[Place, int] = field(default_factory=dict)
    type: str | None = None
    expected_generation: Expected = UNCHECKED


def refuse_stale_consumers(
    wanted: Iterable[ConsumerAllocations], consumers: Mapping[str, KnownConsumer]
) -> None:
    """Raise StaleConsumer for the first consumer that is not as the client saw it."""
    for one in wanted:
        known = consumers.get(one.consumer_uuid)
        actual = known.generation if known else None
        if one.expected_generation is not UNCHECKED and one.expected_generation != actual:
            raise StaleConsumer(one.consumer_uuid, actual, one.expected_generation)


def refuse_unknown_names(
    places: Collection[Place], providers: Collection[str], class_ids: Collection[str]
) -> None:
    """Raise AllocationToUnknownProvider, or else ResourceClassNotFound, for the first there is."""
    for uuid, _ in places:
        if uuid not in providers:
            raise AllocationToUnknownProvider(uuid)
    for _, resource_class in places:
        if resource_class not in class_ids:
            raise ResourceClassNotFound(resource_class)


def refuse_overcommit(
    wanted: Sequence[ConsumerAllocations],
    held: Mapping[str, Mapping[Place, int]],
    stocks: Mapping[Place, Stock],
) -> None:
    """Raise a NotAllocatable if an amount has no place, the wrong size, or no room.

    `held` is what these consumers hold now, `stocks` counts it as used. A provider that is over
    capacity already may stay so, as long as the change does not make it worse.
    """
    stocked = {provider for provider, _ in stocks}
    if not all(provider in stocked for one in wanted for provider, _ in one.amounts):
        raise _no_inventories(wanted, stocked)
    freed: Counter[Place] = Counter()
    for one in wanted:
        freed.update(held.get(one.consumer_uuid, {}))
    added: Counter[Place] = Counter()
    for one in wanted:
        for place, amount in one.amounts.items():
            stock = stocks.get(place)
            if stock is None:
                raise NotAllocatable(*place)
            inventory = stock.inventory
            fits = inventory.min_unit <= amount <= inventory.max_unit
            if not fits or amount % inventory.step_size:
                raise ConstraintsViolated(*place)
            added[place] += amount
            after = stock.used - freed[place] + added[place]
            limit = (inventory.total - inventory.reserved) * inventory.allocation_ratio
            if after > limit and after > stock.used:
                raise CapacityExceeded(*place)


def _no_inventories(
    wanted: Sequence[ConsumerAllocations], stocked: Collection[str]
) -> NotAllocatable:
    """A provider without any of the classes asked for anywhere is refused first, as upstream."""
    places = [place for one in wanted for place in one.amounts]
    bare = dict.fromkeys(provider for provider, _ in places if provider not in stocked)
    classes = dict.fromkeys(resource_class for _, resource_class in places)
    return NotAllocatable(", ".join(bare), ", ".join(classes))
