# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator
from contextlib import closing

import pytest

from trueup.model.allocations import ConsumerAllocations
from trueup.placement.store.engine.database import Database
from trueup.placement.store.rows import consumers


@pytest.fixture
def database(empty_ledger: str) -> Iterator[Database]:
    with closing(Database(empty_ledger)) as database:
        yield database


def shown(database: Database) -> dict[str, tuple[str, str, str | None]]:
    """The owners and the type of every consumer."""
    with database.reading() as tx:
        found = [consumers.read_consumer(row) for row in tx.execute(consumers.columns())]
    return {one.uuid: (one.project_id, one.user_id, one.type) for one in found}


def test_new_consumers_start_at_generation_one_and_known_ones_are_incremented(
    database: Database,
) -> None:
    first = ConsumerAllocations("server", "p", "u", type="INSTANCE")
    with database.transaction() as tx:
        consumers.save(tx, [first], {})
        known = consumers.lock(tx, ["server", "nobody"])
    assert list(known) == ["server"]
    assert (known["server"].generation, shown(database)["server"]) == (1, ("p", "u", "INSTANCE"))

    moved = ConsumerAllocations("server", "other", "u")
    with database.transaction() as tx:
        consumers.save(tx, [moved], known)
        after = consumers.lock(tx, ["server"])["server"]
    assert (after.generation, shown(database)["server"]) == (2, ("other", "u", "INSTANCE"))


def test_a_few_of_each_are_made_at_once(database: Database) -> None:
    wanted = [
        ConsumerAllocations("one", "p", "u", type="INSTANCE"),
        ConsumerAllocations("two", "q", "u"),
        ConsumerAllocations("three", "p", "v", type="MIGRATION"),
    ]
    with database.transaction() as tx:
        consumers.save(tx, wanted, {})
    assert shown(database) == {
        "one": ("p", "u", "INSTANCE"),
        "two": ("q", "u", None),
        "three": ("p", "v", "MIGRATION"),
    }
    with database.transaction() as tx:
        consumers.delete_consumers(tx, ["one", "two"])
        assert list(consumers.lock(tx, ["one", "two", "three"])) == ["three"]
