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
def test_providers_with_an_amount_have_it_free_in_an_allowed_size(
    amount: int, expected: set[str]
) -> None:
    found = VIEW.inventories["VCPU"].providers_with(amount)
    assert {VIEW.forest.uuids[position] for position in found.tolist()} == expected


def test_a_mask_is_the_union_of_positions() -> None:
    vcpu = VIEW.inventories["VCPU"].positions
    assert VIEW.mask_of([vcpu, NO_PROVIDERS]).tolist() == [True, True, True, True, False]


def test_free_is_never_more_than_max_unit() -> None:
    inventory = VIEW.inventories["VCPU"]
    names = [VIEW.forest.uuids[position] for position in inventory.positions.tolist()]
    assert dict(zip(names, inventory.free().tolist(), strict=True)) == {
        "small": 4,
        "busy": 2,
        "even": 8,
        "capped": 2,
    }
