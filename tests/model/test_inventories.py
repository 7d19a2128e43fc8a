# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.model.errors import BadCapacity
from trueup.model.inventories import Inventory, refuse_bad_capacity


def test_capacity_is_total_minus_reserved_times_the_ratio() -> None:
    assert Inventory("VCPU", total=10, reserved=3, allocation_ratio=1.5).capacity == 10


def test_some_inventories_may_reserve_everything() -> None:
    inventory = Inventory("VCPU", total=10, reserved=10)
    refuse_bad_capacity("host", inventory, may_reserve_all=True)
    with pytest.raises(BadCapacity):
        refuse_bad_capacity("host", inventory, may_reserve_all=False)


def test_reserving_more_than_all_is_not() -> None:
    with pytest.raises(BadCapacity):
        refuse_bad_capacity("host", Inventory("VCPU", total=1, reserved=2), may_reserve_all=True)
