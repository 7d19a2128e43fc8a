# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator
from contextlib import closing

import pytest

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
    assert [word.name for word in found] == ["CUSTOM_A_B"]
