# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.model.inventories import Inventory, InventoryWithUsage
from trueup.placement.page import views
from trueup.placement.page.views import UsageBar
from trueup.placement.store.reads.browsing import BrowsedProvider, Resources


def row(number: int, parent: int | None) -> BrowsedProvider:
    return BrowsedProvider(number, f"uuid{number}", f"name{number}", 0, parent, 1)


@pytest.mark.parametrize(
    ("held", "capacity", "drawn", "is_over"),
    [
        (0, 0, 0, False),
        (0, 8, 0, False),
        (4, 8, 50, False),
        (1, 1000, 1, False),
        (8, 8, 100, False),
        (9, 8, 100, True),
        (2, 0, 100, True),
        (0, -4, 100, True),
    ],
)
def test_a_bar(held, capacity, drawn, is_over):
    usage = UsageBar("VCPU", capacity, held)
    assert (usage.drawn, usage.is_over) == (drawn, is_over)


def test_usages_of_several_providers_are_added_and_those_of_servers_come_first():
    one = Resources(
        {"VCPU": InventoryWithUsage(Inventory("VCPU", 8, 2, allocation_ratio=2.0), 3)}, {}
    )
    two = Resources(
        {
            "DISK_GB": InventoryWithUsage(Inventory("DISK_GB", 9), 1),
            "CUSTOM_A": InventoryWithUsage(Inventory("CUSTOM_A", 1), 0),
        },
        {"VCPU": 1},
    )
    assert views.usages_of([one, two]) == [
        UsageBar("VCPU", 12, 4), UsageBar("DISK_GB", 9, 1), UsageBar("CUSTOM_A", 1, 0)
    ]  # fmt: skip


def test_a_tree_is_told_top_down():
    members = [row(4, 2), row(2, 1), row(3, 1), row(5, 4)]
    told = [(branch.provider.id, branch.depth) for branch in views.branches(row(1, None), members)]
    assert told == [(1, 0), (2, 1), (4, 2), (5, 3), (3, 1)]


def test_a_broken_tree_is_told_whole_and_once():
    # 2 and 3 are below each other; the parent of 4 is gone; 5 names the top as below itself.
    members = [row(2, 3), row(3, 2), row(4, 99), row(5, 1)]
    told = [branch.provider.id for branch in views.branches(row(1, 5), members)]
    assert sorted(told) == [1, 2, 3, 4, 5]
