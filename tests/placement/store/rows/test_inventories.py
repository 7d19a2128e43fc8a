# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator

import pytest
from sqlalchemy import insert

from tests.placement.client import UUID, Client
from tests.placement.store.numbered import provider
from trueup.model.inventories import Inventory, InventoryWithUsage
from trueup.placement.store import tables
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.rows import inventories

IDS = {"VCPU": 0, "MEMORY_MB": 1, "DISK_GB": 2}


@pytest.fixture
def tx(client: Client) -> Iterator[Transaction]:
    """Two providers; two consumers hold something of the first."""
    client.make_provider(1, inventories={"DISK_GB": 8, "VCPU": 8})
    client.make_provider(2, inventories={"VCPU": 4})
    client.claim(100, {1: {"VCPU": 2, "DISK_GB": 3}})
    client.claim(101, {1: {"VCPU": 4}})
    with client.application.database.transaction() as tx:
        yield tx


def totals(tx: Transaction, number: int) -> dict[str, int]:
    found = inventories.of_provider(tx, provider(tx, number))
    return {name: one.total for name, one in found.items()}


def used(found: dict[tuple[str, str], InventoryWithUsage]) -> dict[tuple[str, str], int]:
    return {place: stock.used for place, stock in found.items()}


def test_written_inventories_are_read_back(tx: Transaction) -> None:
    two = provider(tx, 2)
    disk = Inventory("DISK_GB", 100, 10, 5, 50, 5, 1.5)
    inventories.insert_inventories(tx, two, [disk, Inventory("MEMORY_MB", 512)], IDS)
    found = inventories.of_provider(tx, two)
    assert list(found) == ["VCPU", "DISK_GB", "MEMORY_MB"]
    amounts = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
    assert [getattr(found["DISK_GB"], name) for name in amounts] == [100, 10, 5, 50, 5, 1.5]
    assert found["DISK_GB"].modified_at is not None


def test_a_change_is_of_one_inventory(tx: Transaction) -> None:
    one = provider(tx, 1)
    inventories.update_inventories(tx, one, [Inventory("VCPU", 16)], IDS)
    inventories.update_inventories(tx, one, [], IDS)
    assert (totals(tx, 1), totals(tx, 2)) == ({"DISK_GB": 8, "VCPU": 16}, {"VCPU": 4})
    inventories.delete_inventories(tx, one, [IDS["VCPU"]])
    inventories.delete_inventories(tx, one, [])
    assert (totals(tx, 1), totals(tx, 2)) == ({"DISK_GB": 8}, {"VCPU": 4})


def test_usage_is_the_sum_of_what_consumers_hold(tx: Transaction) -> None:
    both = [provider(tx, 1), provider(tx, 2)]
    found, class_ids = inventories.with_usage(tx, both, ["VCPU", "DISK_GB", "MEMORY_MB"])
    assert class_ids == {"VCPU": IDS["VCPU"], "DISK_GB": IDS["DISK_GB"]}
    assert used(found) == {
        (UUID(1), "VCPU"): 6,
        (UUID(1), "DISK_GB"): 3,
        (UUID(2), "VCPU"): 0,
    }
    assert found[UUID(2), "VCPU"].inventory.total == 4


def test_only_requested_classes_are_summed(tx: Transaction) -> None:
    both = [provider(tx, 1), provider(tx, 2)]
    only, _ = inventories.with_usage(tx, both[:1], ["DISK_GB", "MEMORY_MB"])
    assert used(only) == {(UUID(1), "DISK_GB"): 3}
    assert inventories.with_usage(tx, both, []) == ({}, {})
    assert inventories.with_usage(tx, [], ["VCPU"]) == ({}, {})


def test_usage_includes_allocations_without_a_consumer(tx: Transaction) -> None:
    row = {"resource_class_id": IDS["VCPU"], "consumer_id": UUID(199), "used": 1}
    two = provider(tx, 2)
    tx.execute(insert(tables.allocations), row | {"resource_provider_id": two.id})
    found, _ = inventories.with_usage(tx, [two], ["VCPU"])
    assert used(found) == {(UUID(2), "VCPU"): 1}
    assert inventories.used_classes(tx, two, [0]) == ["VCPU"]


def test_used_classes_come_once_and_in_the_order_of_their_ids(tx: Transaction) -> None:
    one, two = provider(tx, 1), provider(tx, 2)
    assert inventories.used_classes(tx, one, [2, 1, 0]) == ["VCPU", "DISK_GB"]
    assert inventories.used_classes(tx, one, [IDS["MEMORY_MB"]]) == []
    assert inventories.used_classes(tx, one, []) == []
    assert inventories.used_classes(tx, two, [2, 1, 0]) == []
