# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator

import pytest

from tests.placement.client import UUID, Client
from tests.placement.store.numbered import provider
from trueup.model.allocations import ConsumerAllocations
from trueup.placement.store.engine import changes
from trueup.placement.store.engine.changes import Changed
from trueup.placement.store.engine.database import Database, Transaction
from trueup.placement.store.reads import claims
from trueup.placement.store.rows import allocations

SERVER, MOVE, NOBODY = UUID(100), UUID(101), UUID(199)


@pytest.fixture
def tx(client: Client) -> Iterator[Transaction]:
    """Two providers; one consumer has allocations on both, another on the first."""
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
    assert {
        (allocation.provider_uuid, allocation.resource_class): allocation.amount
        for allocation in held
    } == {
        (UUID(1), "VCPU"): 2,
        (UUID(1), "DISK_GB"): 3,
        (UUID(2), "VCPU"): 1,
    }
    assert {allocation.provider_uuid: allocation.provider_generation for allocation in held} == {
        UUID(number): provider(tx, number).generation for number in (1, 2)
    }
    assert allocations.of_consumer(tx, NOBODY) == (None, [])


def held_by(tx: Transaction, *consumers: str) -> dict[str, dict[tuple[str, str], int]]:
    return claims.read(tx, [ConsumerAllocations(uuid, "p", "u") for uuid in consumers], []).held


def test_deleting_one_consumer_leaves_the_others(tx: Transaction) -> None:
    allocations.delete_of(tx, [SERVER, NOBODY], [provider(tx, 1).id, provider(tx, 2).id])
    assert held_by(tx, SERVER, MOVE) == {MOVE: {(UUID(1), "VCPU"): 4}}


def test_a_consumer_of_which_nothing_is_known_is_deleted_with_all_that_it_holds(
    tx: Transaction,
) -> None:
    assert allocations.delete_of_consumer(tx, SERVER)
    assert held_by(tx, SERVER, MOVE) == {MOVE: {(UUID(1), "VCPU"): 4}}
    assert not allocations.delete_of_consumer(tx, SERVER)


def test_deleting_and_inserting_publish_the_providers(client: Client) -> None:
    client.make_provider(1, inventories={"VCPU": 8})
    client.claim(100, {1: {"VCPU": 2}})
    database = client.application.database
    with database.reading() as tx:
        known = changes.vector(tx)
    with database.transaction() as tx:
        on_first = {provider(tx, 1).id}
        assert claims.read(tx, [ConsumerAllocations(SERVER, "p", "u")], []).held_of == on_first
    assert changed_since(database, known) == Changed()

    with database.transaction() as tx:
        allocations.delete_of_consumer(tx, SERVER)
    assert changed_since(database, known) == Changed(usage_of=frozenset(on_first))

    with database.reading() as tx:
        known = changes.vector(tx)
    with database.transaction() as tx:
        wanted = ConsumerAllocations(SERVER, "p", "u", {(UUID(1), "VCPU"): 1})
        ids = {UUID(1): provider(tx, 1).id}
        allocations.insert_allocations(tx, [wanted], ids, {"VCPU": 0})
    assert changed_since(database, known) == Changed(usage_of=frozenset(on_first))


def changed_since(database: Database, known: changes.Vector) -> Changed:
    with database.reading() as tx:
        return changes.news(tx, known).changed


def test_written_allocations_are_read_back(tx: Transaction) -> None:
    wanted = ConsumerAllocations(MOVE, "p", "u", {(UUID(2), "DISK_GB"): 5, (UUID(2), "VCPU"): 6})
    allocations.delete_of(tx, [MOVE], [provider(tx, 1).id])
    ids = {UUID(2): provider(tx, 2).id}
    allocations.insert_allocations(tx, [wanted], ids, {"VCPU": 0, "DISK_GB": 2})
    allocations.insert_allocations(tx, [ConsumerAllocations(NOBODY, "p", "u")], ids, {})
    assert held_by(tx, MOVE, NOBODY) == {MOVE: wanted.amounts}


def test_without_returning_rows_a_delete_reads_them_first(
    tx: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MySQL cannot return them."""
    monkeypatch.setattr(tx.dialect, "delete_returning", False)
    assert allocations.delete_of_consumer(tx, SERVER)
    assert held_by(tx, SERVER, MOVE) == {MOVE: {(UUID(1), "VCPU"): 4}}
    assert not allocations.delete_of_consumer(tx, SERVER)
