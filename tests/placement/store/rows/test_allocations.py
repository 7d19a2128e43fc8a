# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator

import pytest
from sqlalchemy import insert

from tests.placement.client import UUID, Client
from tests.placement.store.numbered import provider
from trueup.model.allocations import ConsumerAllocations
from trueup.placement.store import tables
from trueup.placement.store.engine import changes
from trueup.placement.store.engine.changes import Changed
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.rows import allocations

SERVER, MOVE, NOBODY = UUID(100), UUID(101), UUID(199)


@pytest.fixture
def tx(client: Client) -> Iterator[Transaction]:
    """Two providers, of which one consumer holds something of both, and one of the first."""
    for number in (1, 2):
        client.make_provider(number, inventories={"VCPU": 8, "DISK_GB": 8})
    client.claim(100, {1: {"VCPU": 2, "DISK_GB": 3}, 2: {"VCPU": 1}})
    client.claim(101, {1: {"VCPU": 4}})
    with client.application.database.transaction() as tx:
        yield tx


def test_a_consumer_is_found_with_all_that_it_holds(tx: Transaction) -> None:
    consumer, held = allocations.of_consumer(tx, SERVER)
    assert consumer is not None
    assert (consumer.uuid, consumer.project_id, consumer.generation) == (SERVER, "a-project", 1)
    assert {(one.provider_uuid, one.resource_class): one.amount for one in held} == {
        (UUID(1), "VCPU"): 2,
        (UUID(1), "DISK_GB"): 3,
        (UUID(2), "VCPU"): 1,
    }
    assert {one.provider_uuid: one.provider_generation for one in held} == {
        UUID(number): provider(tx, number).generation for number in (1, 2)
    }
    assert allocations.of_consumer(tx, NOBODY) == (None, [])


def test_a_provider_is_found_with_all_its_consumers(tx: Transaction) -> None:
    found = allocations.of_provider(tx, provider(tx, 1))
    assert [
        (uuid, generation, one.resource_class, one.amount) for uuid, generation, one in found
    ] == [
        (SERVER, 1, "VCPU", 2),
        (SERVER, 1, "DISK_GB", 3),
        (MOVE, 1, "VCPU", 4),
    ]


def test_several_consumers_are_asked_for_at_once(tx: Transaction) -> None:
    assert allocations.held_by(tx, [MOVE, SERVER, NOBODY]) == (
        {
            SERVER: {(UUID(1), "VCPU"): 2, (UUID(1), "DISK_GB"): 3, (UUID(2), "VCPU"): 1},
            MOVE: {(UUID(1), "VCPU"): 4},
        },
        {provider(tx, 1).id, provider(tx, 2).id},
    )
    assert allocations.held_by(tx, []) == ({}, set())


def test_what_is_held_counts_however_it_came_there(tx: Transaction) -> None:
    """Two rows for one place, and no row for the consumer: only by hand, but they are used."""
    for amount in (1, 2):
        row = {"consumer_id": NOBODY, "resource_class_id": 0, "used": amount}
        tx.execute(insert(tables.allocations), row | {"resource_provider_id": provider(tx, 2).id})
    held, _ = allocations.held_by(tx, [NOBODY])
    assert held == {NOBODY: {(UUID(2), "VCPU"): 3}}
    assert [uuid for uuid, _, _ in allocations.of_provider(tx, provider(tx, 2))] == [SERVER]


def test_deleting_one_consumer_leaves_the_others(tx: Transaction) -> None:
    allocations.delete_of(tx, [], [])
    allocations.delete_of(tx, [SERVER, NOBODY], [provider(tx, 1).id, provider(tx, 2).id])
    held, _ = allocations.held_by(tx, [SERVER, MOVE])
    assert held == {MOVE: {(UUID(1), "VCPU"): 4}}


def test_reading_what_consumers_hold_publishes_nothing_and_deleting_it_does(
    client: Client,
) -> None:
    client.make_provider(1, inventories={"VCPU": 8})
    client.claim(100, {1: {"VCPU": 2}})
    database = client.application.database
    with database.reading() as tx:
        known = changes.vector(tx)
    with database.transaction() as tx:
        _, provider_ids = allocations.held_by(tx, [SERVER])
    with database.reading() as tx:
        assert changes.vector(tx) == known
    with database.transaction() as tx:
        allocations.delete_of(tx, [SERVER], provider_ids)
    with database.reading() as tx:
        changed = changes.since(tx, known, changes.vector(tx))
        assert changed == Changed(usage_of=frozenset({provider(tx, 1).id}))


def test_written_allocations_are_read_back(tx: Transaction) -> None:
    wanted = ConsumerAllocations(MOVE, "p", "u", {(UUID(2), "DISK_GB"): 5, (UUID(2), "VCPU"): 6})
    allocations.delete_of(tx, [MOVE], [provider(tx, 1).id])
    ids = {UUID(2): provider(tx, 2).id}
    allocations.insert_allocations(tx, [wanted], ids, {"VCPU": 0, "DISK_GB": 2})
    allocations.insert_allocations(tx, [ConsumerAllocations(NOBODY, "p", "u")], ids, {})
    held, _ = allocations.held_by(tx, [MOVE, NOBODY])
    assert held == {MOVE: wanted.amounts}
