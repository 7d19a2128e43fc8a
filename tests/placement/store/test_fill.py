# SPDX-License-Identifier: Apache-2.0
"""A database is filled whole or not at all, and a service can use it."""

import pytest
from sqlalchemy import func, inspect, select, text

from trueup.placement.manage.fill import fill_database, has_ledger, make_schema
from trueup.placement.store.engine.database import Database
from trueup.placement.store.fill import FilledConsumer, FilledProvider, LedgerThere, NotOfPlacement
from trueup.placement.store.tables import allocations, consumers, providers

INVENTORY = {
    "total": 8, "reserved": 0, "min_unit": 1, "max_unit": 8, "step_size": 1, "allocation_ratio": 1.0
}  # fmt: skip
HOST, NIC, POOL = (f"{number}1111111-2222-4333-8444-555555555555" for number in (1, 2, 3))
NOTHING: frozenset[str] = frozenset()
NODE, SHARED = frozenset({"COMPUTE_NODE"}), frozenset({POOL})
PROVIDERS = (
    FilledProvider(
        NIC, "nic", HOST, 1, {"CUSTOM_NET": INVENTORY}, frozenset({"CUSTOM_T"}), NOTHING
    ),
    FilledProvider(HOST, "host", None, 7, {"VCPU": INVENTORY}, NODE, SHARED),
    FilledProvider(POOL, "pool", None, 2, {}, NOTHING, SHARED),
)
CONSUMERS = (
    FilledConsumer("c1", "p", "u", None, {HOST: {"VCPU": 2}, NIC: {"CUSTOM_NET": 3}}),
    FilledConsumer("c2", "p", "v", "INSTANCE", {HOST: {"VCPU": 1}}),
)


def counts(url: str) -> tuple[int, ...]:
    database = Database(url)
    with database.reading() as tx:
        found = tuple(
            tx.scalar(select(func.count()).select_from(table))
            for table in (providers, consumers, allocations)
        )
    database.close()
    return found


@pytest.fixture
def url(database_url: str) -> str:
    make_schema(database_url)
    return database_url


def tables_of(url: str) -> set[str]:
    database = Database(url)
    names = set(inspect(database.engine).get_table_names())
    database.close()
    return names


def run_by_hand(url: str, *statements: str) -> None:
    database = Database(url)
    with database.engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    database.close()


def test_a_database_without_tables_or_without_rows_has_no_ledger(database_url):
    assert not has_ledger(database_url)
    assert tables_of(database_url) == set(), "it is only looked at"
    make_schema(database_url)
    assert not has_ledger(database_url)
    fill_database(database_url, PROVIDERS, ())
    assert has_ledger(database_url)


def test_a_database_of_somebody_else_is_refused_and_left(database_url):
    run_by_hand(database_url, "CREATE TABLE wp_posts (id INTEGER)")
    with pytest.raises(NotOfPlacement) as refused:
        has_ledger(database_url)
    assert refused.value.tables == ("wp_posts",)
    assert tables_of(database_url) == {"wp_posts"}


@pytest.mark.parametrize("revision", ["d67eeaabee36", ""])
def test_novas_own_database_is_refused(database_url, revision):
    """Nova's has a table of Placement's name, and perhaps a revision of Nova's."""
    run_by_hand(
        database_url,
        "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)",
        f"INSERT INTO alembic_version VALUES ('{revision or 'a082b8bb98d0'}')",
        *(() if revision else ("CREATE TABLE cell_mappings (id INTEGER)",)),
    )
    before = tables_of(database_url)
    with pytest.raises(NotOfPlacement):
        has_ledger(database_url)
    assert tables_of(database_url) == before


def test_all_of_a_ledger_is_there(url):
    fill_database(url, PROVIDERS, CONSUMERS)
    assert counts(url) == (3, 2, 3)
    database = Database(url)
    with database.reading() as tx:
        rows = {row.uuid: row for row in tx.execute(select(providers))}
    database.close()
    assert rows[NIC].root_provider_id == rows[NIC].parent_provider_id == rows[HOST].id
    assert (rows[HOST].root_provider_id, rows[HOST].generation) == (rows[HOST].id, 7)


def test_a_class_without_inventory_may_be_held(url):
    held = FilledConsumer("c1", "p", "u", None, {HOST: {"CUSTOM_GOLD": 1}})
    fill_database(url, PROVIDERS, (held,))
    assert counts(url) == (3, 1, 1)


def test_a_ledger_that_is_there_is_left(url):
    fill_database(url, PROVIDERS, CONSUMERS)
    with pytest.raises(LedgerThere) as refused:
        fill_database(url, PROVIDERS, CONSUMERS)
    assert (refused.value.providers, refused.value.consumers) == (3, 3)
    assert counts(url) == (3, 2, 3)


def test_an_interrupted_fill_leaves_nothing(url):
    twice = (*CONSUMERS, FilledConsumer("c1", "p", "u", None, {HOST: {"VCPU": 1}}))
    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        fill_database(url, PROVIDERS, twice)
    assert counts(url) == (0, 0, 0)
    fill_database(url, PROVIDERS, CONSUMERS)
    assert counts(url) == (3, 2, 3)
