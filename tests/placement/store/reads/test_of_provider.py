# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator

import pytest
from sqlalchemy import insert

from tests.placement.client import UUID, Client
from tests.placement.store.numbered import provider
from trueup.placement.store import tables
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.reads import of_provider
from trueup.placement.store.rows import class_and_trait_names, inventories

ONE, EMPTY, NOBODY = UUID(1), UUID(2), UUID(9)
SERVER, MOVE = UUID(100), UUID(101)


@pytest.fixture
def tx(client: Client) -> Iterator[Transaction]:
    """A provider with everything, and one with nothing."""
    for trait in ("CUSTOM_FAST", "CUSTOM_BIG"):
        client.put(f"/traits/{trait}")
    client.make_provider(
        1,
        inventories={"VCPU": 8, "DISK_GB": 8, "MEMORY_MB": 16},
        traits=("CUSTOM_BIG", "CUSTOM_FAST"),
    )
    client.put(
        f"/resource_providers/{ONE}/aggregates",
        {"aggregates": [UUID(50), UUID(51)], "resource_provider_generation": 2},
    )
    client.make_provider(2)
    client.claim(100, {1: {"VCPU": 2, "DISK_GB": 3}})
    client.claim(101, {1: {"VCPU": 4}})
    with client.application.database.transaction() as tx:
        yield tx


READERS = (
    of_provider.inventories_of,
    of_provider.usages_of,
    of_provider.aggregates_of,
    of_provider.traits_of,
    of_provider.allocations_of,
)


@pytest.mark.parametrize("read", READERS)
def test_what_is_read_comes_with_the_generation(tx: Transaction, read) -> None:
    generation, found = read(tx, ONE)
    assert generation == provider(tx, 1).generation > 0
    assert found


@pytest.mark.parametrize("read", READERS)
def test_a_provider_with_nothing_is_no_missing_provider(tx: Transaction, read) -> None:
    generation, found = read(tx, EMPTY)
    assert generation == provider(tx, 2).generation
    assert not found
    assert read(tx, NOBODY) is None


def test_inventories_are_those_that_a_transaction_reads(tx: Transaction) -> None:
    found = of_provider.inventories_of(tx, ONE)
    assert found is not None
    assert list(found[1].items()) == list(inventories.of_provider(tx, provider(tx, 1)).items())


def used(tx: Transaction) -> dict[str, int]:
    found = of_provider.usages_of(tx, ONE)
    assert found is not None
    return found[1]


def test_all_allocations_of_a_provider_are_used(tx: Transaction) -> None:
    """Of every consumer, even without a row."""
    assert used(tx) == {"VCPU": 6, "DISK_GB": 3, "MEMORY_MB": 0}
    row = {"resource_provider_id": 1, "resource_class_id": 0, "used": 1}
    tx.execute(insert(tables.allocations), row | {"consumer_id": UUID(199)})
    assert used(tx) == {"VCPU": 7, "DISK_GB": 3, "MEMORY_MB": 0}


def test_a_trait_of_a_provider_is_as_old_as_the_trait(tx: Transaction) -> None:
    found = of_provider.traits_of(tx, ONE)
    assert found is not None
    assert found[1] == [
        class_and_trait_names.trait(tx, name) for name in ("CUSTOM_FAST", "CUSTOM_BIG")
    ]
    assert all(trait.modified_at is not None for trait in found[1])


def test_aggregates_come_in_the_order_in_which_they_were_first_named(tx: Transaction) -> None:
    found = of_provider.aggregates_of(tx, ONE)
    assert found is not None
    assert found[1] == [UUID(50), UUID(51)]


def test_allocations_come_with_their_consumers(tx: Transaction) -> None:
    found = of_provider.allocations_of(tx, ONE)
    assert found is not None
    generation, held = found
    assert [
        (uuid, of_consumer, one.resource_class, one.amount) for uuid, of_consumer, one in held
    ] == [
        (SERVER, 1, "VCPU", 2),
        (SERVER, 1, "DISK_GB", 3),
        (MOVE, 1, "VCPU", 4),
    ]
    assert {
        (allocation.provider_uuid, allocation.provider_generation) for _, _, allocation in held
    } == {(ONE, generation)}
