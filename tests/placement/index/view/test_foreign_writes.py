# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

import pytest
from sqlalchemy import delete, insert, update

from tests.placement.client import UUID, Client
from tests.placement.index.views import true_view
from trueup.placement.index.view import foreign_writes
from trueup.placement.index.view.differences import differences
from trueup.placement.index.view.refresh import load
from trueup.placement.store import schema, tables
from trueup.placement.store.engine.changes import Changed
from trueup.placement.store.reads import fingerprint

MOVES = {
    "a claim that moved": update(tables.allocations).values(resource_provider_id=2),
    "a claim that is gone": delete(tables.allocations),
    "a generation": update(tables.providers).where(tables.providers.c.id == 2).values(generation=9),
    "another parent": update(tables.providers)
    .where(tables.providers.c.id == 2)
    .values(parent_provider_id=1, root_provider_id=1),
    "a member": insert(tables.provider_aggregates).values(resource_provider_id=2, aggregate_id=1),
    "a member that left": delete(tables.provider_aggregates),
    "a provider": insert(tables.providers).values(
        id=9, uuid=UUID(9), name="nine", generation=0, root_provider_id=9
    ),
    "a provider without weight": insert(tables.providers).values(
        id=fingerprint.WEIGHTS, uuid=UUID(8), name="eight", root_provider_id=fingerprint.WEIGHTS
    ),
    "its move, which only its generation shows": update(tables.providers)
    .where(tables.providers.c.id == fingerprint.WEIGHTS)
    .values(parent_provider_id=1, root_provider_id=1, generation=1),
    "a trait": insert(tables.traits).values(id=9999, name="CUSTOM_RED"),
    "a class": insert(tables.resource_classes).values(id=10000, name="CUSTOM_ONE"),
}


@pytest.fixture
def cloud(serve: Callable[..., Client], database_url: str) -> Client:
    schema.create(database_url)
    cloud = serve(database_url)
    cloud.make_provider(1, inventories={"VCPU": 8, "DISK_GB": 8}, aggregates=(50,))
    cloud.make_provider(2, inventories={"VCPU": 8})
    cloud.make_provider(3, 2, inventories={"VCPU": 8}, aggregates=(51,))
    cloud.claim(100, {1: {"VCPU": 2, "DISK_GB": 1}, 3: {"VCPU": 3}})
    return cloud


def test_the_sums_are_those_of_the_columns(cloud: Client) -> None:
    with cloud.application.database.reading(snapshot=True) as tx:
        assert fingerprint.fingerprint(tx) == foreign_writes.fingerprint_of(load(tx))


EVERY_SUM = (
    *fingerprint.PROVIDER_SUMS,
    *fingerprint.USED_SUMS,
    *fingerprint.MEMBER_SUMS,
)


@pytest.mark.parametrize("names", [False, True])
def test_only_what_differs_is_read_again(cloud: Client, names: bool) -> None:
    with cloud.application.database.reading(snapshot=True) as tx:
        view = load(tx)
        assert {name for name, _ in fingerprint.fingerprint(tx)} == {*EVERY_SUM}
        for name in EVERY_SUM:
            found = foreign_writes.changes_against(tx, view, [name], names=names)
            # Nothing did change, so no provider is named.
            assert found == Changed(all_usage="used" in name, names=names)


def test_each_foreign_write_is_found(cloud: Client) -> None:
    for what, statement in MOVES.items():
        view = true_view(cloud)
        with cloud.application.database.transaction() as tx:
            tx.execute(statement)
        loaded = true_view(cloud)
        assert differences(view, loaded), what
        with cloud.application.database.reading(snapshot=True) as tx:
            found, residue = foreign_writes.with_foreign_writes(tx, view, {})
            assert (differences(found, loaded), what) == ([], what)
            assert foreign_writes.with_foreign_writes(tx, found, residue)[0] is found


def test_without_foreign_writes_the_view_stays(cloud: Client) -> None:
    view = true_view(cloud)
    with cloud.application.database.reading(snapshot=True) as tx:
        assert foreign_writes.with_foreign_writes(tx, view, {}) == (view, {})
