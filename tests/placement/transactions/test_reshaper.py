# SPDX-License-Identifier: Apache-2.0
"""Inventories and allocations move at once, or not at all."""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import select

from tests.placement.client import UUID, Client
from trueup.model.allocations import ConsumerAllocations
from trueup.model.errors import (
    AllocationToUnknownProvider,
    CapacityExceeded,
    InventoryInUse,
    NotAllocatable,
    ReshapeOfUnknownProvider,
    ResourceClassNotFound,
    StaleConsumer,
    StaleProvider,
)
from trueup.model.inventories import Inventory
from trueup.placement.store import tables
from trueup.placement.transactions.reshaper import WantedInventories, reshape

HOST, NUMA, NOBODY = 1, 2, 99
SERVER, NEWCOMER = 100, 101
LEDGER = (tables.providers, tables.inventories, tables.allocations, tables.consumers)


def fill(client: Client) -> None:
    """A host whose processors one server holds half of, and a NUMA node without anything."""
    client.make_provider(HOST, inventories={"VCPU": 8, "DISK_GB": 8})
    client.make_provider(NUMA, HOST)
    client.claim(SERVER, {HOST: {"VCPU": 4, "DISK_GB": 1}})


@pytest.fixture
def cloud(client: Client) -> Client:
    fill(client)
    return client


def inventories(provider: int, generation: int, **totals: int) -> WantedInventories:
    wanted = tuple(Inventory(name, total) for name, total in totals.items())
    return WantedInventories(UUID(provider), generation, wanted)


def held(
    consumer: int, amounts: dict[tuple[int, str], int], generation: int | None = 1
) -> ConsumerAllocations:
    places = {(UUID(number), name): amount for (number, name), amount in amounts.items()}
    return ConsumerAllocations(UUID(consumer), "p", "u", places, "INSTANCE", generation)


# The processors go from the host to its NUMA node, and what the server holds of them too.
SPLIT = (inventories(HOST, 2, DISK_GB=8), inventories(NUMA, 0, VCPU=8))
FOLLOWS = held(SERVER, {(HOST, "DISK_GB"): 1, (NUMA, "VCPU"): 4})


def shown(client: Client, provider: int) -> dict[str, Any]:
    path = f"/resource_providers/{UUID(provider)}"
    stock = client.get(f"{path}/inventories").json
    return {
        "generation": stock["resource_provider_generation"],
        "totals": {name: one["total"] for name, one in stock["inventories"].items()},
        "used": client.get(f"{path}/usages").json["usages"],
    }


def everything(client: Client) -> list[list[Any]]:
    with client.application.database.reading() as tx:
        return [tx.execute(select(table).order_by(table.c.id)).all() for table in LEDGER]


def test_inventories_and_allocations_move_at_once(cloud: Client) -> None:
    reshape(cloud.application.database, SPLIT, [FOLLOWS])
    host, numa = shown(cloud, HOST), shown(cloud, NUMA)
    assert (host["totals"], host["used"]) == ({"DISK_GB": 8}, {"DISK_GB": 1})
    assert (numa["totals"], numa["used"]) == ({"VCPU": 8}, {"VCPU": 4})
    assert host["generation"] > 2
    assert numa["generation"] > 0


def test_usage_is_the_sum_of_the_allocations_afterwards(cloud: Client) -> None:
    """Invariant 2."""
    newcomer = held(NEWCOMER, {(NUMA, "VCPU"): 3, (HOST, "DISK_GB"): 2}, None)
    reshape(cloud.application.database, SPLIT, [FOLLOWS, newcomer])
    sums: Counter[tuple[str, str]] = Counter()
    for consumer in (SERVER, NEWCOMER):
        found = cloud.get(f"/allocations/{UUID(consumer)}").json["allocations"]
        for provider, one in found.items():
            for name, amount in one["resources"].items():
                sums[provider, name] += amount
    used = {
        (UUID(provider), name): amount
        for provider in (HOST, NUMA)
        for name, amount in shown(cloud, provider)["used"].items()
    }
    assert used == sums == {(UUID(HOST), "DISK_GB"): 3, (UUID(NUMA), "VCPU"): 7}


REFUSED: list[
    tuple[type[Exception], Sequence[WantedInventories], Sequence[ConsumerAllocations]]
] = [
    (StaleProvider, [inventories(HOST, 1, DISK_GB=8), SPLIT[1]], [FOLLOWS]),
    (StaleProvider, [SPLIT[0], inventories(NUMA, 7, VCPU=8)], [FOLLOWS]),
    (StaleConsumer, SPLIT, [held(SERVER, {(NUMA, "VCPU"): 4}, 7)]),
    (StaleConsumer, SPLIT, [FOLLOWS, held(NEWCOMER, {(NUMA, "VCPU"): 1}, 3)]),
    (ReshapeOfUnknownProvider, [*SPLIT, inventories(NOBODY, 0, VCPU=8)], [FOLLOWS]),
    (AllocationToUnknownProvider, SPLIT, [held(SERVER, {(NOBODY, "VCPU"): 4})]),
    (ResourceClassNotFound, [SPLIT[0], inventories(NUMA, 0, CUSTOM_NOBODY=8)], [FOLLOWS]),
    (ResourceClassNotFound, SPLIT, [held(SERVER, {(NUMA, "CUSTOM_NOBODY"): 4})]),
    (CapacityExceeded, [SPLIT[0], inventories(NUMA, 0, VCPU=3)], [FOLLOWS]),
    (CapacityExceeded, SPLIT, [FOLLOWS, held(NEWCOMER, {(NUMA, "VCPU"): 5}, None)]),
    (NotAllocatable, SPLIT, [held(SERVER, {(NUMA, "PGPU"): 1})]),
    (InventoryInUse, SPLIT, []),
    (InventoryInUse, SPLIT, [held(SERVER, {(HOST, "VCPU"): 4})]),
]


def test_a_refused_reshape_changes_nothing(cloud: Client) -> None:
    before = everything(cloud)
    for refusal, wanted, claims in REFUSED:
        with pytest.raises(refusal):
            reshape(cloud.application.database, wanted, claims)
        assert everything(cloud) == before, (refusal, wanted, claims)
    reshape(cloud.application.database, SPLIT, [FOLLOWS])
    assert everything(cloud) != before


def test_a_provider_may_be_emptied_with_its_consumers(cloud: Client) -> None:
    reshape(cloud.application.database, [inventories(HOST, 2)], [held(SERVER, {})])
    host = shown(cloud, HOST)
    assert (host["totals"], host["used"]) == ({}, {})
    assert cloud.get(f"/allocations/{UUID(SERVER)}").json == {"allocations": {}}
    assert everything(cloud)[-1] == []


def test_an_inventory_may_shrink_below_what_is_used_of_it(cloud: Client) -> None:
    """As with inventories alone: it is over capacity, and no allocation can be added."""
    database = cloud.application.database
    reshape(database, [inventories(HOST, 2, VCPU=2, DISK_GB=8)], [])
    host = shown(cloud, HOST)
    assert (host["totals"]["VCPU"], host["used"]["VCPU"]) == (2, 4)
    assert cloud.claim(NEWCOMER, {HOST: {"VCPU": 1}}).status == 409


def test_of_reshapes_with_the_same_generation_one_succeeds(
    serve: Callable[..., Client], ledger_url: str
) -> None:
    client = serve(ledger_url)
    fill(client)

    def try_to_reshape(_number: int) -> str:
        try:
            reshape(client.application.database, SPLIT, [FOLLOWS])
        except StaleProvider:
            return "stale"
        return "done"

    with ThreadPoolExecutor(4) as pool:
        assert Counter(pool.map(try_to_reshape, range(6))) == {"done": 1, "stale": 5}
    assert (shown(client, HOST)["used"], shown(client, NUMA)["used"]) == (
        {"DISK_GB": 1},
        {"VCPU": 4},
    )
