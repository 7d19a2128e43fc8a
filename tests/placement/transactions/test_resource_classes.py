# SPDX-License-Identifier: Apache-2.0
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.placement.client import UUID, Client
from trueup.model.errors import ResourceClassExists
from trueup.placement.store.engine.database import Database
from trueup.placement.store.rows import class_and_trait_names
from trueup.placement.transactions import resource_classes

GOLD, TIN = "CUSTOM_GOLD", "CUSTOM_TIN"


@pytest.fixture
def database(client: Client) -> Database:
    return client.application.database


def ids(database: Database) -> dict[str, int]:
    """The classes of operators."""
    with database.reading() as tx:
        names = class_and_trait_names.all_resource_classes(tx).names
        custom = [name for name in names if name.startswith("CUSTOM_")]
        return class_and_trait_names.class_ids(tx, custom)


def test_the_id_of_a_deleted_class_is_given_to_no_other(database: Database) -> None:
    resource_classes.create(database, GOLD)
    before = ids(database)[GOLD]
    resource_classes.delete(database, GOLD)
    resource_classes.create(database, TIN)
    assert ids(database)[TIN] > before


def test_a_renamed_class_stays_the_same(client: Client, database: Database) -> None:
    resource_classes.create(database, GOLD)
    client.make_provider(1, inventories={GOLD: 8})
    client.claim(100, {1: {GOLD: 3}})
    known = ids(database)[GOLD]
    resource_classes.rename(database, GOLD, TIN)
    assert ids(database) == {TIN: known}
    usages = client.get(f"/resource_providers/{UUID(1)}/usages").json["usages"]
    assert usages == {TIN: 3}
    resource_classes.rename(database, TIN, TIN)
    assert ids(database) == {TIN: known}


def test_classes_that_are_made_at_the_same_time_have_ids_of_their_own(
    serve: Callable[..., Client], ledger_url: str
) -> None:
    database = serve(ledger_url).application.database
    names = [f"CUSTOM_{number}" for number in range(4)]

    def make(name: str) -> str:
        try:
            resource_classes.create(database, name)
        except ResourceClassExists:
            return "there"
        return "made"

    with ThreadPoolExecutor(4) as pool:
        assert Counter(pool.map(make, names * 2)) == {"made": 4, "there": 4}
    assert sorted(ids(database).values()) == [10000, 10001, 10002, 10003]
    assert sorted(ids(database)) == names


def test_a_class_is_not_deleted_under_an_inventory_of_it(
    serve: Callable[..., Client], ledger_url: str
) -> None:
    """One adds an inventory of a class, another deletes the class: one of them loses."""
    client = serve(ledger_url)
    client.make_provider(1)
    path = f"/resource_providers/{UUID(1)}/inventories"

    def add(_round: int) -> int:
        body = {"resource_class": GOLD, "total": 1, "resource_provider_generation": 0}
        return client.post(path, body, version="1.0").status

    def remove(_round: int) -> int:
        return client.delete(f"/resource_classes/{GOLD}").status

    with ThreadPoolExecutor(2) as pool:
        for number in range(20):
            client.put(f"/resource_classes/{GOLD}")
            added, removed = pool.submit(add, number), pool.submit(remove, number)
            assert (added.result(), removed.result()) in {(201, 409), (400, 204)}
            client.delete(path)
