# SPDX-License-Identifier: Apache-2.0
"""Rows of Placement's database as facts."""

from tests.reconcile.sources.rows import row
from trueup.reconcile.facts import Inventory, Provider
from trueup.reconcile.sources.placement.rows import amounts_of, provider_of, stocks_of

CLASSES = {1: "VCPU", 2: "MEMORY_MB"}
ROW = row(uuid="h1", name="one", generation=3, root="h1", parent=None)


def test_a_row_is_a_provider_with_what_it_has():
    stock = {"VCPU": Inventory(8, 0, 1.0)}
    assert provider_of(ROW, stock) == Provider("h1", "one", 3, "h1", stock)


def test_inventories_are_by_provider_and_class():
    stock = {"resource_provider_id": 7, "total": 8, "reserved": 1, "allocation_ratio": "1.5"}
    stocks = stocks_of([row(**stock, resource_class_id=number) for number in CLASSES], CLASSES)
    assert stocks == {7: dict.fromkeys(CLASSES.values(), Inventory(8, 1, 1.5))}


def test_what_is_held_of_an_unknown_provider_is_not_told():
    rows = [
        row(consumer_id="web", resource_provider_id=number, resource_class_id=1, used=2)
        for number in (7, 8)
    ]
    assert amounts_of(rows, {7: "h1"}, CLASSES) == {"web": {"h1": {"VCPU": 2}}}
