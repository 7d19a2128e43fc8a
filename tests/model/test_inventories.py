# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.model.errors import BadCapacity
from trueup.model.inventories import Inventory, refuse_bad_capacity


def test_capacity_is_what_is_not_reserved_times_the_ratio() -> None:
    assert Inventory("VCPU", total=10, reserved=3, allocation_ratio=1.5).capacity == 10
    assert Inventory("VCPU", total=10, reserved=3, allocation_ratio=1.5).limit == 10.5


@pytest.mark.parametrize(
    ("amount", "allowed"), [(1, False), (2, True), (4, True), (5, False), (8, True), (10, False)]
)
def test_sizes_are_limited_whatever_is_used(amount: int, allowed: bool) -> None:
    inventory = Inventory("VCPU", total=100, min_unit=2, max_unit=8, step_size=2)
    assert inventory.allows(amount) is allowed


def test_reserving_all_is_allowed_to_some() -> None:
    inventory = Inventory("VCPU", total=10, reserved=10)
    refuse_bad_capacity("host", inventory, may_reserve_all=True)
    with pytest.raises(BadCapacity):
        refuse_bad_capacity("host", inventory, may_reserve_all=False)


def test_reserving_more_than_all_is_not() -> None:
    with pytest.raises(BadCapacity):
        refuse_bad_capacity("host", Inventory("VCPU", total=1, reserved=2), may_reserve_all=True)
