# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime

import pytest
from sqlalchemy import update

from tests.servers.sources import KINDS
from trueup.placement.store import schema, tables
from trueup.placement.store.engine.database import Database
from trueup.placement.store.rows import class_and_trait_names


@pytest.fixture
def database(empty_ledger: str) -> Iterator[Database]:
    with closing(Database(empty_ledger)) as database:
        yield database


def test_names_that_do_not_exist_are_left_out(database: Database) -> None:
    with database.reading() as tx:
        assert class_and_trait_names.class_ids(tx, ["VCPU", "NOBODY", "DISK_GB"]) == {
            "VCPU": 0,
            "DISK_GB": 2,
        }
        assert class_and_trait_names.class_ids(tx, []) == {}
        assert list(class_and_trait_names.traits_named(tx, ["NOBODY", "HW_CPU_X86_AVX"])) == [
            "HW_CPU_X86_AVX"
        ]


def test_a_prefix_is_taken_as_it_is(database: Database) -> None:
    with database.transaction() as tx:
        for name in ("CUSTOM_A_B", "CUSTOM_AXB"):
            class_and_trait_names.insert_trait(tx, name)
        found = class_and_trait_names.list_traits(tx, prefix="CUSTOM_A_")
        everything = class_and_trait_names.list_traits(tx)
    assert found.names == ["CUSTOM_A_B"]
    assert everything.names[-2:] == ["CUSTOM_A_B", "CUSTOM_AXB"]


@pytest.mark.parametrize("kind", KINDS)
def test_lists_have_the_time_of_the_latest_change_if_it_is_known(
    fresh_database: Callable[[str], str], kind: str
) -> None:
    url = fresh_database(kind)
    schema.create(url)
    early, late = datetime(2020, 1, 1, 12, 30), datetime(2021, 6, 1, 8)
    with closing(Database(url)) as database, database.transaction() as tx:
        for table in (tables.resource_classes, tables.traits):
            tx.execute(update(table).values(created_at=early, updated_at=None))
        assert class_and_trait_names.all_resource_classes(tx).modified_at == early
        assert class_and_trait_names.list_traits(tx, names=[]) == ([], None)
        changed = update(tables.traits).where(tables.traits.c.name == "HW_CPU_X86_AVX")
        tx.execute(changed.values(updated_at=late))
        assert class_and_trait_names.list_traits(tx).modified_at == late
        tx.execute(changed.values(created_at=None, updated_at=None))
        assert class_and_trait_names.list_traits(tx).modified_at is None
