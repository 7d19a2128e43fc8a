# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.model.allocations import (
    Consumer,
    ConsumerAllocations,
    ProviderResource,
    refuse_overcommit,
    refuse_stale_consumers,
    refuse_unknown_names,
)
from trueup.model.errors import (
    AllocationToUnknownProvider,
    CapacityExceeded,
    ConstraintsViolated,
    NotAllocatable,
    ResourceClassNotFound,
    StaleConsumer,
)
from trueup.model.generations import UNCHECKED, ExpectedGeneration
from trueup.model.inventories import Inventory, InventoryWithUsage
from trueup.model.providers import Provider

CPU: ProviderResource = ("host", "VCPU")
DISK: ProviderResource = ("pool", "DISK_GB")


def wants(
    amounts: dict[ProviderResource, int],
    consumer: str = "server",
    expected: ExpectedGeneration = UNCHECKED,
) -> ConsumerAllocations:
    return ConsumerAllocations(consumer, "project", "user", amounts, expected_generation=expected)


def stock(total: int, used: int, **limits: int) -> InventoryWithUsage:
    return InventoryWithUsage(Inventory("VCPU", total=total, **limits), used)


@pytest.mark.parametrize(
    ("expected", "known", "refused"),
    [
        (UNCHECKED, 7, False),
        (UNCHECKED, None, False),
        (7, 7, False),
        (None, None, False),
        (6, 7, True),
        (None, 7, True),
        (7, None, True),
    ],
)
def test_a_generation_must_be_the_present_one(
    expected: ExpectedGeneration, known: int | None, refused: bool
) -> None:
    consumers = {"server": Consumer(1, "server", "p", "u", known)} if known is not None else {}
    wanted = [wants({}, expected=expected)]
    if not refused:
        refuse_stale_consumers(wanted, consumers)
        return
    with pytest.raises(StaleConsumer) as error:
        refuse_stale_consumers(wanted, consumers)
    assert (error.value.actual, error.value.given) == (known, expected)


def test_unknown_names_are_refused() -> None:
    host = Provider(1, "host", "host", 0, "host")
    refuse_unknown_names([CPU], {"host": host}, {"VCPU": 0})
    with pytest.raises(ResourceClassNotFound):
        refuse_unknown_names([CPU, ("host", "NOBODY")], {"host": host}, {"VCPU": 0})
    # Both errors name the provider.
    with pytest.raises(AllocationToUnknownProvider):
        refuse_unknown_names([("host", "NOBODY"), DISK], {"host": host}, {"VCPU": 0})


def test_amounts_within_capacity_are_accepted() -> None:
    refuse_overcommit([wants({CPU: 2})], {}, {CPU: stock(4, used=2)})


def test_released_amounts_are_free_again() -> None:
    refuse_overcommit([wants({CPU: 4})], {"server": {CPU: 3}}, {CPU: stock(4, used=3)})


def test_consumers_of_one_request_share_the_capacity() -> None:
    wanted = [wants({CPU: 2}), wants({CPU: 3}, "other")]
    with pytest.raises(CapacityExceeded):
        refuse_overcommit(wanted, {}, {CPU: stock(4, used=0)})


@pytest.mark.parametrize(("amount", "refused"), [(5, False), (6, False), (7, True)])
def test_an_over_full_provider_may_not_get_worse(amount: int, refused: bool) -> None:
    wanted, held, stocks = [wants({CPU: amount})], {"server": {CPU: 6}}, {CPU: stock(2, used=6)}
    if not refused:
        refuse_overcommit(wanted, held, stocks)
        return
    with pytest.raises(CapacityExceeded):
        refuse_overcommit(wanted, held, stocks)


@pytest.mark.parametrize(
    ("amount", "allowed"), [(1, False), (2, True), (4, True), (5, False), (8, True), (10, False)]
)
def test_unit_limits_do_not_depend_on_usage(amount: int, allowed: bool) -> None:
    stocks = {CPU: stock(100, used=0, min_unit=2, max_unit=8, step_size=2)}
    if allowed:
        refuse_overcommit([wants({CPU: amount})], {}, stocks)
        return
    with pytest.raises(ConstraintsViolated):
        refuse_overcommit([wants({CPU: amount})], {}, stocks)


def test_unit_limits_are_checked_before_capacity() -> None:
    with pytest.raises(ConstraintsViolated):
        refuse_overcommit([wants({CPU: 9})], {}, {CPU: stock(4, used=0, max_unit=2)})


def test_an_allocation_needs_an_inventory() -> None:
    with pytest.raises(NotAllocatable) as error:
        refuse_overcommit([wants({CPU: 1, ("host", "DISK_GB"): 1})], {}, {CPU: stock(4, used=0)})
    assert error.value.resource_class == "DISK_GB"
    with pytest.raises(NotAllocatable) as error:
        refuse_overcommit([wants({CPU: 1, DISK: 1})], {}, {CPU: stock(4, used=0)})
    assert (error.value.provider, error.value.resource_class) == ("pool", "VCPU, DISK_GB")
