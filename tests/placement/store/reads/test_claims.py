# SPDX-License-Identifier: Apache-2.0
"""One statement reads everything that a claim is decided by, on every kind of database."""

from collections.abc import Callable

import pytest
from sqlalchemy import insert

from tests.placement.client import UUID, Client
from tests.placement.store.numbered import provider
from trueup.model.allocations import ConsumerAllocations
from trueup.model.inventories import Inventory, InventoryWithUsage
from trueup.placement.store import tables
from trueup.placement.store.reads import claims
from trueup.placement.store.rows.consumers import PROJECT, TYPE, USER

SERVER, MOVE, NOBODY = UUID(100), UUID(101), UUID(199)


@pytest.fixture
def client(serve: Callable[..., Client], ledger_url: str) -> Client:
    """Two providers; one consumer has allocations on both, another on the first."""
    client = serve(ledger_url)
    for number in (1, 2):
        client.make_provider(number, inventories={"VCPU": 8, "DISK_GB": 9})
    client.claim(100, {1: {"VCPU": 2, "DISK_GB": 3}, 2: {"VCPU": 1}})
    client.claim(101, {1: {"VCPU": 4}})
    return client


def wanted(uuid: str) -> ConsumerAllocations:
    return ConsumerAllocations(uuid, "a-project", "a-user")


def test_consumers_are_found_with_what_they_hold(client: Client) -> None:
    with client.application.database.reading() as tx:
        found = claims.read(tx, [wanted(MOVE), wanted(SERVER), wanted(NOBODY)], [])
        assert found.held_of == {provider(tx, 1).id, provider(tx, 2).id}
    assert found.held == {
        SERVER: {(UUID(1), "VCPU"): 2, (UUID(1), "DISK_GB"): 3, (UUID(2), "VCPU"): 1},
        MOVE: {(UUID(1), "VCPU"): 4},
    }
    assert {uuid: one.generation for uuid, one in found.consumers.items()} == {SERVER: 1, MOVE: 1}
    assert (found.inventories, found.provider_ids, found.class_ids) == ({}, {}, {})


def test_one_request_may_have_thousands_of_consumers(client: Client) -> None:
    """PostgreSQL takes 65535 parameters in a statement."""
    others = [wanted(UUID(number)) for number in range(1000, 34000)]
    with client.application.database.reading() as tx:
        found = claims.read(tx, [*others, wanted(SERVER), wanted(MOVE)], [])
    assert found.consumers.keys() == {SERVER, MOVE}


def test_inventories_are_found_with_the_usage_of_everybody(client: Client) -> None:
    resources = [(UUID(1), "VCPU"), (UUID(2), "DISK_GB"), (UUID(3), "CUSTOM_NOTHING")]
    with client.application.database.reading() as tx:
        found = claims.read(tx, [], resources)
        assert found.provider_ids == {UUID(n): provider(tx, n).id for n in (1, 2)}
    amounts = {"reserved": 0, "min_unit": 1, "step_size": 1, "allocation_ratio": 1.0}
    cpus = Inventory("VCPU", total=8, max_unit=2**31 - 1, **amounts)
    disk = Inventory("DISK_GB", total=9, max_unit=2**31 - 1, **amounts)
    assert found.inventories == {
        (UUID(1), "VCPU"): InventoryWithUsage(cpus, 6),
        (UUID(1), "DISK_GB"): InventoryWithUsage(disk, 3),
        (UUID(2), "VCPU"): InventoryWithUsage(cpus, 1),
        (UUID(2), "DISK_GB"): InventoryWithUsage(disk, 0),
    }
    assert found.class_ids == {"VCPU": 0, "DISK_GB": 2}


def test_projects_users_and_types_are_found_each_by_its_kind(client: Client) -> None:
    def owners_of(*consumers: ConsumerAllocations) -> set[tuple[str, str]]:
        with client.application.database.reading() as tx:
            return set(claims.read(tx, consumers, []).owners)

    instance = ConsumerAllocations(NOBODY, "a-project", "a-user", type="INSTANCE")
    other = ConsumerAllocations(MOVE, "a-user", "a-project", type="MIGRATION")
    assert owners_of(instance, other) == {
        (PROJECT, "a-project"),
        (USER, "a-user"),
        (TYPE, "INSTANCE"),
    }
    assert owners_of(other) == set()


def test_all_held_amounts_count(client: Client) -> None:
    """Two rows for one resource, and no row for the consumer: only by hand, but they are used."""
    with client.application.database.transaction() as tx:
        for amount in (1, 2):
            row = {"consumer_id": NOBODY, "resource_class_id": 0, "used": amount}
            row["resource_provider_id"] = provider(tx, 2).id
            tx.execute(insert(tables.allocations), row)
        found = claims.read(tx, [wanted(NOBODY)], [(UUID(2), "VCPU")])
    assert found.held == {NOBODY: {(UUID(2), "VCPU"): 3}}
    assert found.inventories[UUID(2), "VCPU"].used == 4
    assert found.consumers == {}
