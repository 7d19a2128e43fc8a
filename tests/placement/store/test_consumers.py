# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator
from contextlib import closing

import pytest

from trueup.model.allocations import ConsumerAllocations
from trueup.placement.store import consumers
from trueup.placement.store.database import Database


@pytest.fixture
def database(empty_ledger: str) -> Iterator[Database]:
    with closing(Database(empty_ledger)) as database:
        yield database


def test_new_consumers_start_and_known_ones_go_on(database: Database) -> None:
    first = ConsumerAllocations("server", "p", "u", type="INSTANCE")
    with database.transaction() as tx:
        consumers.save(tx, [first], {})
        known = consumers.lock(tx, ["server", "nobody"])
    assert list(known) == ["server"]
    assert (known["server"].generation, known["server"].type) == (1, "INSTANCE")

    moved = ConsumerAllocations("server", "other", "u")
    with database.transaction() as tx:
        consumers.save(tx, [moved], known)
        after = consumers.lock(tx, ["server"])["server"]
    assert (after.project_id, after.generation, after.type) == ("other", 2, "INSTANCE")


def test_a_few_of_each_are_made_at_once(database: Database) -> None:
    wanted = [
        ConsumerAllocations("one", "p", "u", type="INSTANCE"),
        ConsumerAllocations("two", "q", "u"),
        ConsumerAllocations("three", "p", "v", type="MIGRATION"),
    ]
    with database.transaction() as tx:
        consumers.save(tx, wanted, {})
        found = consumers.lock(tx, ["one", "two", "three"])
        shown = {name: (c.project_id, c.user_id, c.type) for name, c in found.items()}
        assert shown == {
            "one": ("p", "u", "INSTANCE"),
            "two": ("q", "u", None),
            "three": ("p", "v", "MIGRATION"),
        }
        consumers.delete_consumers(tx, ["one", "two"])
        assert list(consumers.lock(tx, ["one", "two", "three"])) == ["three"]
