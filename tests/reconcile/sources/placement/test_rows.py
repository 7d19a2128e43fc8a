# SPDX-License-Identifier: Apache-2.0
"""Rows of Placement's database as facts."""

from tests.reconcile.sources.rows import row
from trueup.reconcile.facts import Inventory, Provider
from trueup.reconcile.sources.placement.rows import (
    amounts_of,
    inventories_of,
    names_of,
    provider_of,
)

CLASSES = {1: "VCPU", 2: "MEMORY_MB"}
ROW = row(uuid="h1", name="one", generation=3, root="h1", parent=None)


def test_a_row_is_a_provider_with_what_it_has():
    inventories, traits, aggregates = {"VCPU": Inventory(8, 0, 1.0)}, {"T"}, {"a"}
    provider = provider_of(ROW, inventories, frozenset(traits), frozenset(aggregates))
    assert provider == Provider(
        "h1", "one", 3, "h1", inventories, traits=frozenset("T"), aggregates=frozenset("a")
    )


def test_inventories_are_by_provider_and_class():
    row_ = {"resource_provider_id": 7, "total": 8, "reserved": 1, "allocation_ratio": "1.5"}
    row_ |= {"min_unit": 2, "max_unit": 6, "step_size": 2}
    found = inventories_of([row(**row_, resource_class_id=number) for number in CLASSES], CLASSES)
    assert found == {7: dict.fromkeys(CLASSES.values(), Inventory(8, 1, 1.5, 2, 6, 2))}


def test_names_are_by_provider():
    rows = [
        row(resource_provider_id=number, name=name)
        for number, name in ((7, "b"), (7, "a"), (8, "a"))
    ]
    assert names_of(rows) == {7: {"a", "b"}, 8: {"a"}}


def test_what_is_held_of_an_unknown_provider_is_left_out():
    rows = [
        row(consumer_id="web", resource_provider_id=number, resource_class_id=1, used=2)
        for number in (7, 8)
    ]
    assert amounts_of(rows, {7: "h1"}, CLASSES) == {"web": {"h1": {"VCPU": 2}}}


def test_rows_of_a_class_that_does_not_exist_are_left_out():
    numbers = {"resource_provider_id": 7, "resource_class_id": 99}
    assert amounts_of([row(consumer_id="web", used=2, **numbers)], {7: "h1"}, CLASSES) == {}
    assert inventories_of([row(**numbers)], CLASSES) == {}
