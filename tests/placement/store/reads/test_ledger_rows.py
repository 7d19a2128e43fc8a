# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event, insert, update

from tests.placement.client import UUID, Client
from trueup.placement.store import schema, tables
from trueup.placement.store.reads import ledger_rows
from trueup.placement.store.reads.ledger_rows import InventoryRow, LedgerRows, ProviderRow, Usage

FAST, SLOW = "HW_CPU_X86_SSE", "HW_CPU_X86_AVX"


def take(client: Client) -> LedgerRows:
    with client.application.database.reading(snapshot=True) as tx:
        return ledger_rows.whole(tx)


def test_the_rows_contain_the_whole_ledger(client: Client) -> None:
    amounts = {"total": 10, "reserved": 2, "allocation_ratio": 1.5, "min_unit": 2, "max_unit": 6}
    client.make_provider(
        1, inventories={"VCPU": amounts | {"step_size": 2}}, traits=(SLOW, FAST), aggregates=(50,)
    )
    client.make_provider(2, 1, inventories={"DISK_GB": 5})
    client.claim(100, {1: {"VCPU": 2}})
    client.claim(101, {1: {"VCPU": 4}})

    found = take(client)

    one, two = sorted(row.id for row in found.providers)
    assert sorted(found.providers) == [
        ProviderRow(one, UUID(1), one, None, 5),
        ProviderRow(two, UUID(2), one, one, 1),
    ]
    vcpu, disk = found.names.class_ids["VCPU"], found.names.class_ids["DISK_GB"]
    assert set(found.inventories) == {
        InventoryRow(one, vcpu, 10, 2, 1.5, 2, 6, 2),
        InventoryRow(two, disk, 5, 0, 1.0, 1, 2**31 - 1, 1),
    }
    assert list(found.used) == [(one, vcpu, 6)]
    trait_ids = found.names.trait_ids
    assert found.trait_sets == {one: tuple(sorted([trait_ids[FAST], trait_ids[SLOW]]))}
    ((provider, aggregate),) = found.aggregate_pairs
    assert (provider, found.aggregate_uuids) == (one, {aggregate: UUID(50)})


def test_the_usage_of_all_is_that_of_each(serve: Callable[..., Client], ledger_url: str) -> None:
    """A NULL generation, which only a manual change writes, counts as 0."""
    client = serve(ledger_url)
    for number in (1, 2, 3):
        client.make_provider(number, inventories={"VCPU": 8, "DISK_GB": 8})
    client.claim(100, {1: {"VCPU": 1}, 2: {"VCPU": 2, "DISK_GB": 3}})
    with client.application.database.transaction() as tx:
        unset = update(tables.providers).where(tables.providers.c.uuid == UUID(3))
        tx.execute(unset.values(generation=None))
    with client.application.database.reading(snapshot=True) as tx:
        together = ledger_rows.usage(tx)
        ids = [key for key, _ in together.generations]
        each = [ledger_rows.usage(tx, [key]) for key in ids]
    assert sorted(together.generations) == sorted(usage.generations[0] for usage in each)
    assert sorted(generation for _, generation in together.generations) == [0, 2, 2]
    assert sorted(together.used) == sorted(row for usage in each for row in usage.used)
    assert sorted(used for _, _, used in together.used) == [1, 2, 3]


def test_of_some_providers_there_is_the_same(client: Client) -> None:
    for number in (1, 2):
        client.make_provider(
            number, inventories={"VCPU": 8}, traits=(FAST,), aggregates=(50 + number,)
        )
    client.claim(100, {1: {"VCPU": 1}, 2: {"VCPU": 2}})
    everything = take(client)
    one, two = sorted(row.id for row in everything.providers)
    vcpu = everything.names.class_ids["VCPU"]
    with client.application.database.reading() as tx:
        names = everything.names
        found = ledger_rows.of_providers(tx, names, [two, 99])
        assert ledger_rows.of_providers(tx, names, []) == LedgerRows(names, [], [], [], {}, [], {})
        assert ledger_rows.usage(tx, [one, 99]) == Usage([(one, 4)], [(one, vcpu, 1)])
        assert len(ledger_rows.usage(tx).used) == len(ledger_rows.usage(tx).generations) == 2
        assert ledger_rows.providers_with(tx, [vcpu], []) == {one, two}
        assert ledger_rows.providers_with(tx, [], [names.trait_ids[FAST]]) == {one, two}
        assert ledger_rows.providers_with(tx, [], []) == set()
        assert ledger_rows.all_providers(tx) == everything.providers
        assert ledger_rows.all_members(tx) == everything.aggregate_pairs
    assert found.providers == everything.providers[1:]
    assert list(found.used) == [(two, vcpu, 2)]
    assert list(found.aggregate_uuids.values()) == [UUID(52)]


def test_the_rows_are_of_one_moment(serve: Callable[..., Client], ledger_url: str) -> None:
    """A write after its first statement is not in it."""
    client, other = serve(ledger_url), serve(ledger_url)
    client.make_provider(1, inventories={"VCPU": 8})
    before = take(client)
    written: list[int] = []

    def write(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if not written and statement.startswith("SELECT"):
            written.append(1)
            other.put("/traits/CUSTOM_LATE")
            other.make_provider(
                2, inventories={"VCPU": 4}, traits=("CUSTOM_LATE",), aggregates=(50,)
            )
            written.append(other.claim(100, {1: {"VCPU": 2}}).status)

    event.listen(client.application.database.engine, "after_cursor_execute", write)
    assert take(client) == before
    assert written == [1, 204]
    after = take(client)
    assert {row.uuid for row in after.providers} == {UUID(1), UUID(2)}
    assert sorted(row.total for row in after.inventories) == [4, 8]
    # Some databases sum to decimals.
    assert [(row[2], type(row[2])) for row in after.used] == [(2, int)]
    assert len(after.trait_sets) == len(after.aggregate_pairs) == 1


def test_a_provider_without_a_root_is_not_read(client: Client) -> None:
    client.make_provider(1)
    client.make_provider(2)
    with client.application.database.transaction() as tx:
        orphaned = update(tables.providers).where(tables.providers.c.uuid == UUID(1))
        tx.execute(orphaned.values(root_provider_id=None))
    assert [row.uuid for row in take(client).providers] == [UUID(2)]


def test_allocations_without_a_consumer_count_as_usage(client: Client) -> None:
    client.make_provider(1, inventories={"VCPU": 8})
    client.claim(100, {1: {"VCPU": 2}})
    with client.application.database.transaction() as tx:
        tx.execute(tables.consumers.delete())
        row = {"resource_provider_id": 1, "resource_class_id": 0, "used": 1}
        tx.execute(insert(tables.allocations), row | {"consumer_id": UUID(199)})
    assert [row[2] for row in take(client).used] == [3]


def test_a_truncated_list_is_refused(
    serve: Callable[..., Client], fresh_database: Callable[[str], str]
) -> None:
    """MariaDB truncates a list that is too long, and only warns."""
    url = fresh_database("mariadb")
    schema.create(url)
    client = serve(url)
    client.make_provider(1, traits=(SLOW, FAST))
    with client.application.database.reading(snapshot=True) as tx:
        for length in (4, 5, 6):
            tx.exec_driver_sql(f"SET SESSION group_concat_max_len = {length}")
            with pytest.raises(ledger_rows.ListCutOff):
                ledger_rows.whole(tx)
