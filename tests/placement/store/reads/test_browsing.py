# SPDX-License-Identifier: Apache-2.0
"""Reads for pages, on each kind of database and with inconsistent rows."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tests.clouds import damage
from tests.placement.client import UUID, Client
from trueup.placement.store.engine.database import Database, Transaction
from trueup.placement.store.reads import browsing

HOST, CHILD, OTHER, EMPTY = 1, 2, 3, 4


@pytest.fixture
def filled(serve: Callable[..., Client], ledger_url: str) -> str:
    """A host with a child, another host, and one without anything; two consumers."""
    client = serve(ledger_url)
    client.make_provider(HOST, inventories={"VCPU": 8, "DISK_GB": 90}, aggregates=(50,))
    client.make_provider(CHILD, HOST, inventories={"VGPU": 2}, traits=("HW_CPU_X86_AVX2",))
    client.make_provider(OTHER, inventories={"VCPU": 8})
    client.make_provider(EMPTY)
    assert client.claim(101, {HOST: {"VCPU": 2, "DISK_GB": 10}, CHILD: {"VGPU": 1}}).status == 204
    assert client.claim(102, {HOST: {"VCPU": 3}}).status == 204
    return ledger_url


@pytest.fixture
def tx(filled: str) -> Iterator[Transaction]:
    with closing(Database(filled)) as database, database.reading(snapshot=True) as found:
        yield found


def uuids(found: list[browsing.BrowsedProvider]) -> set[str]:
    return {row.uuid for row in found}


def of(tx: Transaction, number: int) -> browsing.BrowsedProvider:
    found = browsing.provider(tx, UUID(number))
    assert found is not None
    return found


def test_trees_are_counted_and_paged(tx):
    assert browsing.count_trees(tx) == 3
    paged = [top.uuid for offset in (0, 2, 4) for top in browsing.tops(tx, offset, 2)]
    assert sorted(paged) == [UUID(HOST), UUID(OTHER), UUID(EMPTY)]
    assert uuids(browsing.below(tx, [of(tx, HOST).id], 9)) == {UUID(CHILD)}
    assert browsing.below(tx, [], 9) == []


def test_resources_are_what_is_offered_and_what_is_held(tx):
    host, empty = of(tx, HOST).id, of(tx, EMPTY).id
    found = browsing.resources_of(tx, [host, empty])
    told = {
        name: (present.inventory.total, present.used)
        for name, present in found[host].inventories.items()
    }
    assert told == {"DISK_GB": (90, 10), "VCPU": (8, 5)}
    assert found[empty] == browsing.Resources({}, {})
    assert browsing.resources_of(tx, []) == {}
    total = browsing.totals(tx).inventories["VCPU"]
    assert (total.inventory.capacity, total.used) == (16, 5)


def test_one_provider_with_its_traits_and_aggregates(tx):
    child = of(tx, CHILD)
    assert set(browsing.providers_of(tx, {child.parent_id, child.root_id})) == {of(tx, HOST).id}
    assert list(browsing.traits_of(tx, child.id)) == ["HW_CPU_X86_AVX2"]
    assert list(browsing.aggregates_of(tx, of(tx, HOST).id)) == [UUID(50)]
    assert browsing.provider(tx, UUID(9)) is None


def test_holders_are_paged_by_consumer_and_not_by_row(tx):
    host = of(tx, HOST).id
    assert browsing.count_holders(tx, host) == 2
    first, second = (
        browsing.holdings_on_provider(tx, host, 0, 1),
        browsing.holdings_on_provider(tx, host, 1, 1),
    )
    told = [(holding.consumer_uuid, holding.resource_class, holding.amount) for holding in first]
    assert told == [(UUID(101), "DISK_GB", 10), (UUID(101), "VCPU", 2)]
    assert [(holding.consumer_uuid, holding.amount) for holding in second] == [(UUID(102), 3)]


def test_a_consumer_and_what_it_holds(tx):
    found = browsing.consumer(tx, UUID(101))
    assert found[:5] == (UUID(101), 1, "a-project", "a-user", "INSTANCE")
    held = {
        (holding.provider_uuid, holding.resource_class): holding.amount
        for holding in browsing.holdings_of_consumer(tx, UUID(101), 9)
    }
    assert held == {
        (UUID(HOST), "VCPU"): 2, (UUID(HOST), "DISK_GB"): 10, (UUID(CHILD), "VGPU"): 1
    }  # fmt: skip
    assert len(browsing.holdings_of_consumer(tx, UUID(101), 2)) == 2
    assert browsing.consumer(tx, UUID(9)) is None


@pytest.mark.parametrize(
    ("words", "providers", "consumers"),
    [
        (UUID(HOST).upper(), {HOST}, set()),
        (UUID(101), set(), {101}),
        (UUID(0)[:20], {HOST, CHILD, OTHER, EMPTY}, {101, 102}),
        ("a-project", set(), {101, 102}),
        ("a-user", set(), {101, 102}),
        ("a-proj", set(), set()),
        ("%", set(), set()),
        ("_", set(), set()),
        ("'; DROP TABLE x", set(), set()),
    ],
)
def test_a_search_by_uuid_and_owner(tx, words, providers, consumers):
    assert uuids(browsing.search_providers(tx, words, 9)) == {UUID(number) for number in providers}
    found = browsing.search_consumers(tx, words, 9)
    assert {row.uuid for row in found} == {UUID(row) for row in consumers}


def test_a_search_by_a_part_of_a_name_and_by_aggregate(tx):
    name = of(tx, HOST).name
    assert UUID(HOST) in uuids(browsing.search_providers(tx, name[1:].upper(), 9))
    assert len(browsing.search_providers(tx, name[:2], 2)) == 2
    assert uuids(browsing.providers_in(tx, UUID(50), 9)) == {UUID(HOST)}


def test_rows_that_do_not_fit_are_shown(filled):
    for harm in (
        f"DELETE FROM consumers WHERE uuid = '{UUID(102)}'",
        "UPDATE allocations SET resource_provider_id = 999 WHERE used = 10",
        f"UPDATE resource_providers SET root_provider_id = NULL WHERE uuid = '{UUID(EMPTY)}'",
        "UPDATE consumers SET project_id = 999",
        "DELETE FROM inventories WHERE total = 2",
    ):
        damage.execute(filled, harm)
    with closing(Database(filled)) as database, database.reading(snapshot=True) as tx:
        assert browsing.count_trees(tx) == 3
        assert of(tx, EMPTY).root_id is None
        assert browsing.consumers_of(tx, [UUID(101), UUID(102)]).keys() == {UUID(101)}
        assert [holding.amount for holding in browsing.holdings_of_consumer(tx, UUID(102), 9)] == [
            3
        ]
        gone = [
            holding
            for holding in browsing.holdings_of_consumer(tx, UUID(101), 9)
            if holding.provider_uuid is None
        ]
        assert [(holding.resource_class, holding.amount) for holding in gone] == [("DISK_GB", 10)]
        assert browsing.consumer(tx, UUID(101)).project_id is None
        child = of(tx, CHILD).id
        assert browsing.resources_of(tx, [child])[child].used_without_inventory == {"VGPU": 1}
