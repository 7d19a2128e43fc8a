# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import select

from tests.placement.client import UUID, Client
from tests.placement.store.numbered import provider
from trueup.placement.store import schema, tables
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


def members(tx: Transaction, number: int) -> list[str]:
    return sorted(aggregates.known(tx, provider(tx, number), []).members)


def test_the_aggregates_of_a_provider_and_those_that_are_named(tx: Transaction) -> None:
    one, two = provider(tx, 1), provider(tx, 2)
    known = aggregates.known(tx, one, [UUID(51), UUID(52)])
    assert sorted(known.members) == [UUID(50), UUID(51)]
    assert known.named == {UUID(51): known.members[UUID(51)]}
    assert aggregates.known(tx, one, []) == (known.members, {})
    assert aggregates.known(tx, two, [UUID(50)]) == ({}, {UUID(50): known.members[UUID(50)]})


def test_an_aggregate_gets_its_id_when_it_is_first_named(tx: Transaction) -> None:
    one, wanted = provider(tx, 1), [UUID(52), UUID(51)]
    named = aggregates.known(tx, one, wanted).named
    (added,) = aggregates.add_missing(tx, wanted, named)
    assert rows(tx) == [UUID(50), UUID(51), UUID(52)]
    now_named = aggregates.known(tx, one, wanted).named
    assert now_named == {**named, UUID(52): added}
    assert aggregates.add_missing(tx, wanted, now_named) == []
    assert aggregates.add_missing(tx, [], {}) == []


@pytest.mark.parametrize("known_count", [0, 1])
def test_an_aggregate_may_be_named_in_both_cases_at_once(
    serve: Callable[..., Client], database_url: str, known_count: int
) -> None:
    """To MariaDB they are one aggregate, to the others two; another provider may know one."""
    schema.create(database_url)
    client = serve(database_url)
    named = ["abcdefab-0000-4000-8000-00000000000a", "ABCDEFAB-0000-4000-8000-00000000000A"]
    for number, wanted in ((2, named[:known_count]), (1, named)):
        client.make_provider(number)
        path = f"/resource_providers/{UUID(number)}/aggregates"
        body = {"aggregates": wanted, "resource_provider_generation": 0}
        assert client.put(path, body).status == 200
    kept = client.get(path).json["aggregates"]
    assert {uuid.lower() for uuid in kept} == {named[0]}
    assert len(kept) == (1 if database_url.startswith("mysql") else 2)


def test_members_join_and_leave_one_by_one(tx: Transaction) -> None:
    one, two = provider(tx, 1), provider(tx, 2)
    known = aggregates.known(tx, one, []).members
    aggregates.insert_memberships(tx, two, [known[UUID(51)]])
    aggregates.delete_memberships(tx, one, [known[UUID(51)]])
    assert members(tx, 1) == [UUID(50)]
    assert members(tx, 2) == [UUID(51)]


def test_an_empty_change_does_nothing(tx: Transaction) -> None:
    one = provider(tx, 1)
    aggregates.insert_memberships(tx, one, [])
    aggregates.delete_memberships(tx, one, [])
    assert members(tx, 1) == [UUID(50), UUID(51)]


def test_an_aggregate_outlives_its_last_member(tx: Transaction) -> None:
    one = provider(tx, 1)
    aggregates.delete_memberships(tx, one, aggregates.known(tx, one, []).members.values())
    assert members(tx, 1) == []
    assert rows(tx) == [UUID(50), UUID(51)]
