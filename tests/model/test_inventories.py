# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.model.errors import BadCapacity, CapacityExceeded, ConstraintsViolated
from trueup.model.inventories import Inventory, Stock, refuse_bad_capacity


def test_capacity_is_what_is_not_reserved_times_the_ratio() -> None:
    assert Inventory("VCPU", total=10, reserved=3, allocation_ratio=1.5).capacity == 10


@pytest.mark.parametrize(
    ("amount", "allowed"), [(1, False), (2, True), (4, True), (5, False), (8, True), (10, False)]
)
def test_sizes_are_limited_whatever_is_used(amount: int, allowed: bool) -> None:
    inventory = Inventory("VCPU", total=100, min_unit=2, max_unit=8, step_size=2)
    refusal = Stock(inventory, used=0).refusal_of(amount, after=amount)
    assert refusal is (None if allowed else ConstraintsViolated)


@pytest.mark.parametrize(
    ("used", "after", "allowed"), [(0, 10, True), (0, 11, False), (12, 11, True), (12, 13, False)]
)
def test_usage_grows_up_to_capacity_and_above_it_only_shrinks(
    used: int, after: int, allowed: bool
) -> None:
    inventory = Inventory("VCPU", total=10, reserved=3, allocation_ratio=1.5)
    refusal = Stock(inventory, used).refusal_of(1, after)
    assert refusal is (None if allowed else CapacityExceeded)


def test_reserving_all_is_allowed_to_some() -> None:
    inventory = Inventory("VCPU", total=10, reserved=10)
    refuse_bad_capacity("host", inventory, may_reserve_all=True)
    with pytest.raises(BadCapacity):
        refuse_bad_capacity("host", inventory, may_reserve_all=False)


def test_reserving_more_than_all_is_not() -> None:
    with pytest.raises(BadCapacity):
        refuse_bad_capacity("host", Inventory("VCPU", total=1, reserved=2), may_reserve_all=True)
