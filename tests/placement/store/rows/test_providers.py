# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator

import pytest
from sqlalchemy import func, insert, select

from tests.placement.client import UUID, Client
from tests.placement.store.numbered import provider
from trueup.placement.store import tables
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.rows import providers

ROOT, CHILD, LEAF, OTHER, NOBODY = 1, 2, 3, 4, 99


@pytest.fixture
def tx(client: Client) -> Iterator[Transaction]:
    """A tree of three, one below the other, and a provider beside it."""
    client.make_provider(ROOT)
    client.make_provider(CHILD, ROOT, inventories={"VCPU": 8}, traits=("HW_CPU_X86_AVX",))
    client.make_provider(LEAF, CHILD, aggregates=(50,))
    client.make_provider(OTHER, inventories={"VCPU": 8})
    with client.application.database.transaction() as tx:
        yield tx


def places(tx: Transaction, *others: int) -> dict[str, tuple[str | None, str | None]]:
    found = providers.lock(tx, [UUID(number) for number in (ROOT, CHILD, LEAF, OTHER, *others)])
    return {uuid: (place.root_uuid, place.parent_uuid) for uuid, place in found.items()}


def test_a_provider_knows_its_place(tx: Transaction) -> None:
    leaf = provider(tx, LEAF)
    assert (leaf.root_uuid, leaf.parent_uuid) == (UUID(ROOT), UUID(CHILD))
    assert leaf.root_id == provider(tx, ROOT).id
    assert providers.of_uuid(tx, UUID(NOBODY)) is None


def test_those_that_exist_are_locked(tx: Transaction) -> None:
    found = providers.lock(tx, [UUID(OTHER), UUID(NOBODY), UUID(ROOT)])
    assert {uuid: one.name for uuid, one in found.items()} == {
        UUID(OTHER): "provider 4",
        UUID(ROOT): "provider 1",
    }
    assert providers.lock(tx, []) == {}
    assert providers.lock_one(tx, UUID(NOBODY)) is None
    assert providers.lock_one(tx, UUID(LEAF)) == provider(tx, LEAF)


def test_a_subtree_is_all_that_is_below(tx: Transaction) -> None:
    def below(number: int) -> list[str]:
        return [member.uuid for member in providers.subtree(tx, provider(tx, number))]

    assert below(ROOT) == [UUID(ROOT), UUID(CHILD), UUID(LEAF)]
    assert below(CHILD) == [UUID(CHILD), UUID(LEAF)]
    assert below(LEAF) == [UUID(LEAF)]
    assert providers.has_children(tx, provider(tx, CHILD))
    assert not providers.has_children(tx, provider(tx, LEAF))


def test_a_new_root_is_its_own_and_a_child_has_its_parents(tx: Transaction) -> None:
    providers.insert_provider(tx, UUID(10), "root", None)
    providers.insert_provider(tx, UUID(11), "child", provider(tx, LEAF))
    found = places(tx, 10, 11)
    assert found[UUID(10)] == (UUID(10), None)
    assert found[UUID(11)] == (UUID(ROOT), UUID(LEAF))
    assert provider(tx, 10).generation == 0


def test_a_provider_moves_with_its_subtree(tx: Transaction) -> None:
    child = provider(tx, CHILD)
    providers.move(tx, child, providers.subtree(tx, child), provider(tx, OTHER))
    found = places(tx)
    assert found[UUID(CHILD)] == (UUID(OTHER), UUID(OTHER))
    assert found[UUID(LEAF)] == (UUID(OTHER), UUID(CHILD))
    assert found[UUID(ROOT)] == (UUID(ROOT), None)

    providers.move(tx, child, providers.subtree(tx, provider(tx, CHILD)), None)
    found = places(tx)
    assert found[UUID(CHILD)] == (UUID(CHILD), None)
    assert found[UUID(LEAF)] == (UUID(CHILD), UUID(CHILD))


def test_generations_only_grow(tx: Transaction) -> None:
    before = {number: provider(tx, number).generation for number in (ROOT, CHILD, LEAF)}
    providers.bump_generations(tx, [provider(tx, ROOT).id, provider(tx, CHILD).id])
    providers.bump_generations(tx, [provider(tx, CHILD).id], by=2)
    providers.bump_generations(tx, [])
    after = {number: provider(tx, number).generation for number in (ROOT, CHILD, LEAF)}
    assert {number: after[number] - before[number] for number in before} == {
        ROOT: 1,
        CHILD: 3,
        LEAF: 0,
    }


def test_names_and_uuids_of_other_providers_are_taken(tx: Transaction) -> None:
    providers.rename(tx, provider(tx, ROOT), "renamed")
    assert provider(tx, ROOT).name == "renamed"
    assert providers.is_taken(tx, name="renamed")
    assert not providers.is_taken(tx, name="provider 1")
    assert providers.is_taken(tx, uuid=UUID(ROOT))
    assert not providers.is_taken(tx, uuid=UUID(NOBODY))


def test_a_deleted_provider_leaves_nothing_behind(tx: Transaction) -> None:
    for number in (LEAF, CHILD, ROOT):
        providers.delete_provider(tx, provider(tx, number))
    assert list(places(tx)) == [UUID(OTHER)]
    left = {
        table.name: tx.scalar(select(func.count()).select_from(table))
        for table in (tables.inventories, tables.provider_traits, tables.provider_aggregates)
    }
    assert left == {
        "inventories": 1,
        "resource_provider_traits": 0,
        "resource_provider_aggregates": 0,
    }


def test_allocations_without_a_consumer_row_are_found(tx: Transaction) -> None:
    other = provider(tx, OTHER)
    assert not providers.has_allocations(tx, other)
    row = {"resource_class_id": 0, "consumer_id": UUID(199), "used": 1}
    tx.execute(insert(tables.allocations), row | {"resource_provider_id": other.id})
    assert providers.has_allocations(tx, other)
    assert not providers.has_allocations(tx, provider(tx, ROOT))


def test_a_claim_locks_with_less_to_read(client: Client) -> None:
    client.make_provider(1)
    client.make_provider(2)
    with client.application.database.transaction() as tx:
        locked = providers.lock_refs(tx, {UUID(1), UUID(2), UUID(3)})
        whole = providers.lock(tx, {UUID(1), UUID(2), UUID(3)})
        assert {uuid: one.id for uuid, one in locked.items()} == {
            uuid: one.id for uuid, one in whole.items()
        }
        assert providers.lock_refs(tx, set()) == {}
