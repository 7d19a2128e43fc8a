# SPDX-License-Identifier: Apache-2.0
"""Placement's database: its parts are those of the whole, on each kind of server; when broken."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.clouds import damage
from tests.placement.client import UUID, Client
from tests.reconcile.sources.placement.test_contract import (
    HOST,
    LONELY,
    NESTED,
    OTHER,
    POOL,
    fill,
    from_database,
    service,
)
from trueup.placement.store import schema
from trueup.reconcile.facts import Owner
from trueup.reconcile.sources.errors import DatabaseUnusable, Unreachable
from trueup.reconcile.sources.placement.contract import LedgerLookup
from trueup.reconcile.sources.placement.database import PlacementDatabase
from trueup.reconcile.sources.placement.loaded import LoadedLedger

EVERYBODY = [UUID(number) for number in (11, 12, 13, 99)]
ASKED = [([HOST], []), ([NESTED], []), ([POOL], []), ([UUID(77)], []), ([HOST, OTHER], [])]


@pytest.fixture
def both(database_url: str) -> Iterator[tuple[LedgerLookup, LedgerLookup]]:
    """From rows, and of the whole."""
    with closing(service(database_url)) as application:
        fill(Client(application))
    with closing(PlacementDatabase(database_url)) as database:
        yield database, LoadedLedger(from_database(database_url))


def test_parts_are_as_of_the_whole(both):
    rows, whole = both
    name = whole.trees([OTHER], [])[OTHER].name
    for uuids, names in (*ASKED, ([], [name]), ([], ["nobody's"])):
        trees = rows.trees(uuids, names)
        assert trees.keys() == whole.trees(uuids, names).keys()
        assert rows.completed(trees) == whole.completed(whole.trees(uuids, names))
        assert rows.holders(trees) == whole.holders(trees)
    assert rows.held(EVERYBODY) == whole.held(EVERYBODY)
    owners = rows.owners(EVERYBODY)
    assert owners == whole.owners(EVERYBODY)
    assert owners == dict.fromkeys(EVERYBODY[:3], Owner("a-project", "a-user"))
    assert (rows.read_via, whole.read_via) == ("database", "database")


def test_children_are_found_whatever_their_root(both):
    part, whole = both
    for parent, child in ((HOST, {NESTED}), (NESTED, set()), (OTHER, set())):
        assert part.children([parent]) == whole.children([parent]) == child


def test_a_part_says_what_bears_on_it(both):
    for parts in both:
        trees = parts.trees([NESTED], [])
        assert trees.keys() == {HOST, NESTED}
        near = parts.completed(trees)
        assert near.keys() == {HOST, NESTED, POOL}
        assert near[POOL].shares_with == {HOST}
        assert LONELY not in near
        assert parts.holders([POOL]) == {UUID(11)}


def test_a_database_that_is_gone_is_silent(tmp_path):
    parts = PlacementDatabase(f"sqlite:///{tmp_path / 'none.sqlite'}")
    with pytest.raises(Unreachable):
        parts.held([UUID(11)])


@pytest.fixture
def empty_ledger(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'placement.sqlite'}"
    schema.create(url)
    return url


def test_an_empty_ledger_is_an_answer(empty_ledger):
    ledger = PlacementDatabase(empty_ledger).ledger()
    assert (ledger.providers, ledger.consumers) == ({}, {})


def test_a_database_that_is_none_of_placements_is_unreachable(empty_ledger):
    damage.execute(empty_ledger, "DROP TABLE inventories")
    with pytest.raises(Unreachable) as silent:
        PlacementDatabase(empty_ledger).ledger()
    assert silent.value.source == "Placement's database"


def test_what_is_no_database_url_is_said_at_once():
    with pytest.raises(DatabaseUnusable):
        PlacementDatabase("placement")


FAULTS = {
    "DELETE FROM consumers WHERE uuid = '{consumer}'": {
        ("consumerless", "{other}", "VCPU", 3),
    },
    "UPDATE resource_providers SET root_provider_id = NULL WHERE uuid = '{other}'": {
        ("tree", "{other}", "", 0),
    },
    "UPDATE resource_providers SET parent_provider_id = id WHERE uuid = '{other}'": {
        ("tree", "{other}", "", 0),
    },
    "UPDATE inventories SET resource_provider_id = 999 WHERE resource_provider_id ="
    " (SELECT id FROM resource_providers WHERE uuid = '{other}')": {
        ("dangling", "inventories 999", "", 1),
    },
    # SQLite stores text in a column of integers.
    "UPDATE inventories SET resource_class_id = 'nonsense' WHERE resource_provider_id ="
    " (SELECT id FROM resource_providers WHERE uuid = '{other}')": {
        ("dangling", "inventories resource class nonsense", "", 1),
    },
    "UPDATE allocations SET resource_class_id = 999 WHERE consumer_id = '{consumer}'": {
        ("dangling", "allocations resource class 999", "", 1),
    },
}


@pytest.fixture
def small(tmp_path: Path) -> str:
    """On SQLite, which lets any row be changed."""
    url = f"sqlite:///{tmp_path / 'placement.sqlite'}"
    with closing(service(url)) as application:
        fill(Client(application))
    return url


@pytest.mark.parametrize("harm", FAULTS)
def test_rows_that_are_wrong_by_themselves_are_told(small, harm):
    named = {"consumer": UUID(12), "other": OTHER}
    with closing(PlacementDatabase(small)) as database:
        assert database.faults(()) == ()
        damage.execute(small, harm.format(**named))
        faults = database.faults(())
        found = {(one.kind, one.subject, one.resource_class, one.amount) for one in faults}
        assert {one.consumers for one in faults} == {(UUID(12),) if "{consumer}" in harm else ()}
        assert database.ledger().faults == faults
    assert found == {
        (kind, subject.format(**named), name, amount)
        for kind, subject, name, amount in FAULTS[harm]
    }


@pytest.mark.parametrize(
    ("harm", "named"),
    [
        ("UPDATE inventories SET total = 'eight'", "inventories: total is 'eight'"),
        ("UPDATE inventories SET allocation_ratio = 'x'", "inventories: allocation_ratio is no"),
        ("UPDATE allocations SET used = 'two'", "allocations: used is 'two'"),
    ],
)
def test_an_amount_that_is_no_number_is_named_and_nothing_is_judged(small, harm, named):
    damage.execute(small, harm)
    with closing(PlacementDatabase(small)) as database, pytest.raises(Unreachable) as silent:
        database.ledger()
    assert named in silent.value.reason


def test_a_provider_without_a_name_or_generation_is_read(small):
    damage.execute(
        small,
        f"UPDATE resource_providers SET name = NULL, generation = NULL WHERE uuid = '{OTHER}'",
    )
    with closing(PlacementDatabase(small)) as database:
        row = database.ledger().providers[OTHER]
    assert (row.name, row.generation) == ("", 0)


def test_what_is_held_of_some_providers_is_told_by_consumer(both):
    for parts in both:
        assert parts.held_of([OTHER]) == {
            UUID(12): {OTHER: {"VCPU": 3}},
            UUID(13): {OTHER: {"VCPU": 1}},
        }
        assert parts.held_of([NESTED]) == {UUID(11): {NESTED: {"VGPU": 1}}}
        assert parts.held_of([]) == {}
