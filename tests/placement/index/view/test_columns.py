# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.placement.index.clouds import Host, view_of
from trueup.placement.index.view.columns import NO_PROVIDERS

VIEW = view_of(
    [
        Host("small", {"VCPU": 4}),
        Host("busy", {"VCPU": 8}, used={"VCPU": 6}),
        Host("even", {"VCPU": 8}, step_size=2),
        Host("capped", {"VCPU": 8}, max_unit=2),
        Host("bare"),
    ]
)


@pytest.mark.parametrize(
    ("amount", "expected"),
    [(1, {"small", "busy", "capped"}), (2, {"small", "busy", "even", "capped"}), (8, {"even"})],
)
def test_room_is_what_is_free_in_a_size_that_is_allowed(amount: int, expected: set[str]) -> None:
    found = VIEW.inventories["VCPU"].providers_with(amount)
    assert {VIEW.forest.uuids[position] for position in found.tolist()} == expected


def test_masks_join_positions() -> None:
    vcpu = VIEW.inventories["VCPU"].positions
    assert VIEW.mask_of([vcpu, NO_PROVIDERS]).tolist() == [True, True, True, True, False]


def test_one_consumer_has_no_more_than_its_share() -> None:
    stock = VIEW.inventories["VCPU"]
    names = [VIEW.forest.uuids[position] for position in stock.positions.tolist()]
    assert dict(zip(names, stock.free().tolist(), strict=True)) == {
        "small": 4,
        "busy": 2,
        "even": 8,
        "capped": 2,
    }
