# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime

import pytest
from sqlalchemy import select, update

from tests.servers.sources import KINDS
from trueup.placement.store import schema, tables
from trueup.placement.store.engine.database import Database, Transaction
from trueup.placement.store.rows import class_and_trait_names


@pytest.fixture
def database(empty_ledger: str) -> Iterator[Database]:
    with closing(Database(empty_ledger)) as database:
        yield database


@pytest.fixture(params=KINDS)
def tx(
    request: pytest.FixtureRequest, fresh_database: Callable[[str], str]
) -> Iterator[Transaction]:
    """A transaction on a new ledger, with each kind of database."""
    url = fresh_database(request.param)
    schema.create(url)
    with closing(Database(url)) as database, database.transaction() as tx:
        yield tx


def test_names_that_do_not_exist_are_left_out(database: Database) -> None:
    with database.reading() as tx:
        assert class_and_trait_names.class_ids(tx, ["VCPU", "NOBODY", "DISK_GB"]) == {
            "VCPU": 0,
            "DISK_GB": 2,
        }
        assert class_and_trait_names.class_ids(tx, []) == {}


def test_a_name_may_be_of_a_class_and_of_a_trait(tx: Transaction) -> None:
    for name in ("CUSTOM_ONE", "CUSTOM_BOTH"):
        class_and_trait_names.insert_trait(tx, name)
    class_and_trait_names.insert_resource_class(tx, "CUSTOM_BOTH")
    found = class_and_trait_names.ids_named(
        tx, ["VCPU", "custom_one", "CUSTOM_BOTH", "CUSTOM_ONE", "NOBODY"]
    )
    assert found.classes == {"VCPU": 0, "CUSTOM_BOTH": 10000}
    assert set(found.traits) == {"CUSTOM_BOTH", "CUSTOM_ONE"}
    query = select(tables.traits.c.name, tables.traits.c.id)
    assert found.traits.items() <= dict(map(tuple, tx.execute(query))).items()
    assert class_and_trait_names.ids_named(tx, []) == ({}, {})


def test_a_prefix_may_have_wildcards(database: Database) -> None:
    """As in upstream."""
    with database.transaction() as tx:
        for name in ("CUSTOM_A_B", "CUSTOM_AXB"):
            class_and_trait_names.insert_trait(tx, name)
        found = class_and_trait_names.list_traits(tx, prefix="CUSTOM_A_")
        any_x = class_and_trait_names.list_traits(tx, prefix="CUSTOM%X")
        everything = class_and_trait_names.list_traits(tx)
    assert found.names == ("CUSTOM_A_B", "CUSTOM_AXB")
    assert any_x.names == ("CUSTOM_AXB",)
    assert everything.names[-2:] == ("CUSTOM_A_B", "CUSTOM_AXB")


def test_lists_have_the_time_of_the_latest_change_if_it_is_known(tx: Transaction) -> None:
    early, late = datetime(2020, 1, 1, 12, 30), datetime(2021, 6, 1, 8)
    for table in (tables.resource_classes, tables.traits):
        tx.execute(update(table).values(created_at=early, updated_at=None))
    assert class_and_trait_names.all_resource_classes(tx).modified_at == early
    assert class_and_trait_names.list_traits(tx, names=[]) == ((), None)
    changed = update(tables.traits).where(tables.traits.c.name == "HW_CPU_X86_AVX")
    tx.execute(changed.values(updated_at=late))
    assert class_and_trait_names.list_traits(tx).modified_at == late
    tx.execute(changed.values(created_at=None, updated_at=None))
    assert class_and_trait_names.list_traits(tx).modified_at is None
