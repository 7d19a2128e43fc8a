# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator

import pytest

from tests.placement.client import UUID, Client, claim
from trueup.model.usages import TypeUsage
from trueup.placement.store import tables
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.reads import usages


@pytest.fixture
def tx(client: Client) -> Iterator[Transaction]:
    """Two projects, two users, two types, and one consumer whose type was never stated."""
    for number in (1, 2):
        client.make_provider(number, inventories={"VCPU": 16, "DISK_GB": 16})

    def give(consumer: int, amounts: dict[int, dict[str, int]], **changes: str | None) -> None:
        body = {**claim(amounts), **changes}
        typed = body["consumer_type"] is not None
        given = body if typed else {k: v for k, v in body.items() if k != "consumer_type"}
        version = "1.39" if typed else "1.37"
        assert client.put(f"/allocations/{UUID(consumer)}", given, version=version).status == 204

    give(100, {1: {"VCPU": 1, "DISK_GB": 2}, 2: {"VCPU": 1}})
    give(101, {1: {"VCPU": 2}}, user_id="b-user")
    give(102, {2: {"VCPU": 4}}, consumer_type="MIGRATION")
    give(103, {2: {"DISK_GB": 8}}, consumer_type=None)
    give(104, {1: {"VCPU": 8}}, project_id="b-project")
    with client.application.database.transaction() as tx:
        yield tx


def by_type(
    tx: Transaction, kind: str | None = None, user: str | None = None, project: str = "a-project"
) -> dict[str, TypeUsage]:
    found = usages.by_type(tx, project, user, kind)
    assert len(found) == len({usage.consumer_type for usage in found})
    return {usage.consumer_type: usage for usage in found}


INSTANCES = TypeUsage("INSTANCE", 2, {"VCPU": 4, "DISK_GB": 2})
MIGRATIONS = TypeUsage("MIGRATION", 1, {"VCPU": 4})
UNKNOWN = TypeUsage("unknown", 1, {"DISK_GB": 8})


def test_sums_of_a_project_and_of_its_users(tx: Transaction) -> None:
    assert usages.of_project(tx, "a-project", None) == {"VCPU": 8, "DISK_GB": 10}
    assert usages.of_project(tx, "a-project", "b-user") == {"VCPU": 2}
    assert usages.of_project(tx, "b-project", "a-user") == {"VCPU": 8}
    assert usages.of_project(tx, "b-project", "b-user") == {}
    assert usages.of_project(tx, "nobody", None) == {}


def test_each_type_has_its_own_sum(tx: Transaction) -> None:
    assert by_type(tx) == {
        "INSTANCE": INSTANCES,
        "MIGRATION": MIGRATIONS,
        "unknown": UNKNOWN,
    }
    assert by_type(tx, user="b-user") == {"INSTANCE": TypeUsage("INSTANCE", 1, {"VCPU": 2})}
    assert by_type(tx, project="nobody") == {}


def test_one_type_is_asked_for(tx: Transaction) -> None:
    assert by_type(tx, "INSTANCE") == {"INSTANCE": INSTANCES}
    assert by_type(tx, "unknown") == {"unknown": UNKNOWN}
    assert by_type(tx, "unknown", "b-user") == {}
    assert by_type(tx, "NOBODY") == {}


def test_all_types_are_one_sum(tx: Transaction) -> None:
    """A consumer counts once, however many providers and classes it holds."""
    assert by_type(tx, "all") == {"all": TypeUsage("all", 4, {"VCPU": 8, "DISK_GB": 10})}
    assert by_type(tx, "all", "b-user") == {"all": TypeUsage("all", 1, {"VCPU": 2})}
    assert by_type(tx, "all", project="nobody") == {}


def test_consumers_without_allocations_are_not_counted(tx: Transaction) -> None:
    """Upstream leaves such consumers behind."""
    tx.execute(tables.allocations.delete().where(tables.allocations.c.consumer_id == UUID(102)))
    assert "MIGRATION" not in by_type(tx)
    assert by_type(tx, "all")["all"].consumers == 3
