# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import select

from tests.placement.client import UUID, Client
from tests.placement.store.numbered import provider
from trueup.placement.store import tables
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.rows import aggregates


@pytest.fixture
def tx(client: Client) -> Iterator[Transaction]:
    """Two providers; the first is a member of two aggregates."""
    client.make_provider(1, aggregates=(50, 51))
    client.make_provider(2)
    with client.application.database.transaction() as tx:
        yield tx


def rows(tx: Transaction) -> list[str]:
    return list(tx.scalars(select(tables.aggregates.c.uuid).order_by(tables.aggregates.c.id)))


def known(tx: Transaction, number: int, *named: str) -> aggregates.KnownAggregates:
    found = aggregates.known(tx, UUID(number), named)
    assert found is not None
    return found


def members(tx: Transaction, number: int) -> list[str]:
    return sorted(known(tx, number).members)


def test_a_provider_its_aggregates_and_those_that_are_named(tx: Transaction) -> None:
    one = known(tx, 1, UUID(51), UUID(52))
    assert one.provider[1:] == (UUID(1), 1)
    assert sorted(one.members) == [UUID(50), UUID(51)]
    assert one.named == {UUID(51): one.members[UUID(51)]}
    assert known(tx, 1) == (one.provider, one.members, {})
    two = known(tx, 2, UUID(50))
    assert two.provider[1:] == (UUID(2), 0)
    assert two[1:] == ({}, {UUID(50): one.members[UUID(50)]})
    assert aggregates.known(tx, UUID(3), [UUID(50)]) is None


def test_an_aggregate_gets_its_id_when_it_is_first_named(tx: Transaction) -> None:
    wanted = [UUID(52), UUID(51)]
    named = known(tx, 1, *wanted).named
    (added,) = aggregates.add_missing(tx, wanted, named)
    assert rows(tx) == [UUID(50), UUID(51), UUID(52)]
    now_named = known(tx, 1, *wanted).named
    assert now_named == {**named, UUID(52): added}
    assert aggregates.add_missing(tx, wanted, now_named) == []
    assert aggregates.add_missing(tx, [], {}) == []


@pytest.mark.parametrize("known_count", [0, 1])
def test_an_aggregate_may_be_named_in_both_cases_at_once(
    serve: Callable[..., Client], ledger_url: str, known_count: int
) -> None:
    """To MariaDB they are one aggregate, to the others two; another provider may know one."""
    client = serve(ledger_url)
    named = ["abcdefab-0000-4000-8000-00000000000a", "ABCDEFAB-0000-4000-8000-00000000000A"]
    for number, wanted in ((2, named[:known_count]), (1, named)):
        client.make_provider(number)
        path = f"/resource_providers/{UUID(number)}/aggregates"
        body = {"aggregates": wanted, "resource_provider_generation": 0}
        assert client.put(path, body).status == 200
    kept = client.get(path).json["aggregates"]
    assert {uuid.lower() for uuid in kept} == {named[0]}
    assert len(kept) == (1 if ledger_url.startswith("mysql") else 2)


def test_members_join_and_leave_one_by_one(tx: Transaction) -> None:
    one, two = provider(tx, 1), provider(tx, 2)
    left = known(tx, 1).members[UUID(51)]
    aggregates.insert_memberships(tx, two, [left])
    aggregates.delete_memberships(tx, one, [left])
    assert members(tx, 1) == [UUID(50)]
    assert members(tx, 2) == [UUID(51)]


def test_an_empty_change_does_nothing(tx: Transaction) -> None:
    one = provider(tx, 1)
    aggregates.insert_memberships(tx, one, [])
    aggregates.delete_memberships(tx, one, [])
    assert members(tx, 1) == [UUID(50), UUID(51)]


def test_an_aggregate_outlives_its_last_member(tx: Transaction) -> None:
    one = provider(tx, 1)
    aggregates.delete_memberships(tx, one, known(tx, 1).members.values())
    assert members(tx, 1) == []
    assert rows(tx) == [UUID(50), UUID(51)]
