# SPDX-License-Identifier: Apache-2.0
"""Consumers, what they hold, and the rule that usage never grows above capacity."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

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
from trueup.model.providers import Provider

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


def providers_in(wanted: Iterable[ConsumerAllocations]) -> list[str]:
    """The UUIDs of the providers named, each once, in the order of the request."""
    return list(dict.fromkeys(provider for one in wanted for provider, _ in one.amounts))


def classes_in(wanted: Iterable[ConsumerAllocations]) -> list[str]:
    """The names of the resource classes named, each once, in the order of the request."""
    return list(dict.fromkeys(name for one in wanted for _, name in one.amounts))


def refuse_stale_consumers(
    wanted: Iterable[ConsumerAllocations], consumers: Mapping[str, Consumer]
) -> None:
    """Raise StaleConsumer for the first consumer that is not as the client saw it."""
    for one in wanted:
        known = consumers.get(one.consumer_uuid)
        actual = known.generation if known else None
        if one.expected_generation is not UNCHECKED and one.expected_generation != actual:
            raise StaleConsumer(one.consumer_uuid, actual, one.expected_generation)


def refuse_unknown_providers(
    wanted: Iterable[ConsumerAllocations], providers: Mapping[str, Provider]
) -> None:
    """Raise AllocationToUnknownProvider for the first provider that does not exist."""
    for uuid in providers_in(wanted):
        if uuid not in providers:
            raise AllocationToUnknownProvider(uuid)


def refuse_unknown_classes(names: Iterable[str], known: Mapping[str, int]) -> None:
    """Raise ResourceClassNotFound for the first class that does not exist."""
    for name in names:
        if name not in known:
            raise ResourceClassNotFound(name)


def refuse_overcommit(
    wanted: Sequence[ConsumerAllocations],
    held: Mapping[str, Mapping[Place, int]],
    stocks: Mapping[Place, Stock],
) -> None:
    """Raise a NotAllocatable if an amount has no place, the wrong size, or no room.

    `held` is what these consumers hold now, `stocks` counts it as used. A provider that is over
    capacity already may stay so, as long as the change does not make it worse.
    """
    _refuse_bare_providers(wanted, stocks)
    freed: Counter[Place] = Counter()
    for one in wanted:
        freed.update(held.get(one.consumer_uuid, {}))
    added: Counter[Place] = Counter()
    for one in wanted:
        for place, amount in one.amounts.items():
            provider, resource_class = place
            stock = stocks.get(place)
            if stock is None:
                raise NotAllocatable(provider, resource_class)
            if not stock.inventory.allows(amount):
                raise ConstraintsViolated(provider, resource_class)
            added[place] += amount
            after = stock.used - freed[place] + added[place]
            if after > stock.inventory.limit and after > stock.used:
                raise CapacityExceeded(provider, resource_class)


def _refuse_bare_providers(
    wanted: Sequence[ConsumerAllocations], stocks: Mapping[Place, Stock]
) -> None:
    """A provider without any of the classes asked for anywhere is refused first, as upstream."""
    stocked = {provider for provider, _ in stocks}
    bare = [uuid for uuid in providers_in(wanted) if uuid not in stocked]
    if bare:
        raise NotAllocatable(", ".join(bare), ", ".join(classes_in(wanted)))
