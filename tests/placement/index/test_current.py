# SPDX-License-Identifier: Apache-2.0
"""Invariant 3: a view includes all writes that any worker acknowledged before the call."""

import logging
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from unittest import mock

import numpy as np
import pytest
from sqlalchemy import delete, event, insert, update

from tests.placement.client import UUID, Client
from tests.placement.index.views import true_view
from tests.placement.index.watching import Clock, selected_from, stopped_search
from trueup.placement import store
from trueup.placement.index import current
from trueup.placement.index.current import Index
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.differences import differences
from trueup.placement.index.view.refresh import load
from trueup.placement.store import migrations, tables
from trueup.placement.store.engine import changes
from trueup.placement.store.engine.database import Database, in_transaction

CHANGES_IN_ROUND = 500
ROUNDS = int(os.environ.get("TRUEUP_ROUNDS", "15"))


@pytest.fixture
def service(serve: Callable[..., Client], ledger_url: str) -> Client:
    service = serve(ledger_url)
    service.make_provider(1, inventories={"VCPU": 8})
    return service


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def other(service: Client, ledger_url: str, clock: Clock) -> Iterator[Index]:
    """The index of another worker, with connections of its own, that has answered before."""
    with closing(Database(ledger_url)) as database:
        index = Index(database, clock)
        index.view()
        yield index


@pytest.fixture
def small(client: Client, clock: Clock) -> tuple[Client, Index]:
    """A service and an index on SQLite, for tests that do not depend on the database."""
    client.make_provider(1, inventories={"VCPU": 8})
    index = Index(client.application.database, clock)
    index.view()
    return client, index


def used(index: Index, number: int = 1) -> int:
    view = index.view()
    inventory = view.inventories["VCPU"]
    (entry,) = np.flatnonzero(inventory.positions == view.forest.by_uuid[UUID(number)])
    return int(inventory.used[entry])


def allocate(tx: Any, consumer: int, amount: int) -> None:
    """With the store's own functions."""
    row = {"consumer_id": UUID(consumer), "resource_provider_id": 1, "resource_class_id": 0}
    tx.execute(insert(tables.allocations), row | {"used": amount})


def test_every_write_is_in_the_next_view(service: Client, other: Index) -> None:
    service.claim(100, {1: {"VCPU": 3}})
    assert used(other) == 3
    service.delete(f"/allocations/{UUID(100)}")
    assert used(other) == 0
    service.make_provider(2, 1, traits=("HW_CPU_X86_AVX",), aggregates=(50,))
    groups = f"/resource_providers/{UUID(1)}/aggregates"
    service.put(groups, [UUID(51)], version="1.18")
    service.put("/traits/CUSTOM_RED")
    assert differences(other.view(), true_view(service)) == []
    # Without a change of the aggregates the generation grows all the same.
    body = {"aggregates": [UUID(51)], "resource_provider_generation": 2}
    assert service.put(groups, body).status == 200
    assert differences(other.view(), true_view(service)) == []
    body = {"name": "moved", "parent_provider_uuid": None}
    assert service.put(f"/resource_providers/{UUID(2)}", body).status == 200
    service.delete("/traits/CUSTOM_RED")
    assert differences(other.view(), true_view(service)) == []
    service.delete(f"/resource_providers/{UUID(2)}")
    assert list(other.view().forest.uuids) == [UUID(1)]


def test_transactions_may_end_in_another_order_than_they_began(
    service: Client, other: Index, ledger_url: str
) -> None:
    """The first has the smaller ids, and is the last to be acknowledged."""
    if ledger_url.startswith("sqlite"):
        return  # One at a time: they end as they begin.
    database = service.application.database
    database.write_slots.leave_one_of(3)
    with database.transaction() as first:
        allocate(first, 100, 1)
        changes.note(first, changes.USAGE_OF, [1])
        with database.transaction() as second:
            allocate(second, 101, 2)
            changes.note(second, changes.USAGE_OF, [1])
        assert used(other) == 2
    assert used(other) == 3


def test_a_rolled_back_write_is_in_no_view(service: Client, other: Index) -> None:
    @in_transaction
    def fail(tx: Any) -> None:
        allocate(tx, 100, 1)
        changes.note(tx, changes.USAGE_OF, [1])
        raise KeyError

    with pytest.raises(KeyError):
        fail(service.application.database)
    assert used(other) == 0
    service.claim(100, {1: {"VCPU": 3}})
    assert used(other) == 3


def test_a_worker_that_missed_very_many_changes_is_current(service: Client, other: Index) -> None:
    """A million with TRUEUP_ROUNDS=2000, which `make conformance` sets."""
    database = service.application.database
    database.write_slots.leave_one_of(5)

    @in_transaction
    def write(tx: Any, first: int) -> None:
        rows = [
            {"consumer_id": UUID(first + number), "resource_provider_id": 1, "used": 1}
            for number in range(CHANGES_IN_ROUND)
        ]
        tx.execute(insert(tables.allocations).values(resource_class_id=0), rows)
        changes.note(tx, changes.USAGE_OF, [1])

    @in_transaction
    def release(tx: Any, first: int) -> None:
        gone = [UUID(first + number) for number in range(CHANGES_IN_ROUND)]
        tx.execute(delete(tables.allocations).where(tables.allocations.c.consumer_id.in_(gone)))
        changes.note(tx, changes.USAGE_OF, [1])

    firsts = [1000 + number * CHANGES_IN_ROUND for number in range(ROUNDS)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda first: write(database, first), firsts))
    for first in firsts[::3]:
        release(database, first)
    left = len(firsts) - len(firsts[::3])
    assert used(other) == left * CHANGES_IN_ROUND
    assert differences(other.view(), true_view(service)) == []


def test_many_threads_read_and_write_at_the_same_time(service: Client, other: Index) -> None:
    """Each thread writes and then reads: its own write is there, whatever the others do."""
    for number in range(2, 6):
        service.make_provider(number, inventories={"VCPU": 100})

    def write_and_ask(number: int) -> int:
        amount = 0
        for step in range(6):
            consumer = number * 100 + step
            assert service.claim(consumer, {number: {"VCPU": 1}}).status == 204
            amount += 1
            assert used(other, number) == amount
        return amount

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(write_and_ask, range(2, 6))) == [6] * 4
    assert differences(other.view(), true_view(service)) == []


def test_a_refresh_that_began_before_a_write_is_not_used_after_it(
    small: tuple[Client, Index],
) -> None:
    """It waits while another thread reads an older state, and then reads by itself."""
    client, index = small
    client.claim(100, {1: {"VCPU": 1}})
    reading, written = threading.Event(), threading.Event()

    def stop(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if "JOIN allocations" in statement and not reading.is_set():
            reading.set()
            assert written.wait(30)

    event.listen(client.application.database.engine, "after_cursor_execute", stop)
    with ThreadPoolExecutor(2) as pool:
        early = pool.submit(index.view)
        assert reading.wait(30)
        client.claim(101, {1: {"VCPU": 1}})
        late = pool.submit(used, index)
        written.set()
        assert early.result(30).inventories["VCPU"].used.tolist() == [1]
        assert late.result(30) == 2


def test_usage_that_is_written_after_the_news_was_read_is_not_missed(
    service: Client, other: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read without a snapshot, so it may be newer than the news, and is then read again."""
    service.claim(100, {1: {"VCPU": 1}})
    real = changes.news

    def overtaken(tx: Any, known: changes.Vector) -> changes.News:
        found = real(tx, known)
        monkeypatch.setattr(changes, "news", real)
        service.claim(101, {1: {"VCPU": 2}})
        return found

    monkeypatch.setattr(changes, "news", overtaken)
    # A transaction on SQLite is always a snapshot.
    assert used(other) == (1 if service.application.database.is_sqlite else 3)
    assert used(other) == 3
    assert not differences(other.view(), true_view(service))


def test_threads_wait_while_the_first_one_loads(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading, released = threading.Event(), threading.Event()
    loads: list[View] = []

    def slow(tx: Any) -> View:
        loading.set()
        assert released.wait(30)
        loads.append(load(tx))
        return loads[-1]

    monkeypatch.setattr(current, "load", slow)
    index = Index(client.application.database)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(index.view)
        assert loading.wait(30)
        others = [pool.submit(index.view) for _ in range(2)]
        released.set()
        views = [future.result(30) for future in (first, *others)]
    assert len(loads) == 1
    assert all(view is loads[0] for view in views)


def test_nothing_is_read_again_when_nothing_changed(small: tuple[Client, Index]) -> None:
    client, index = small
    view = index.view()
    queries = selected_from(client.application.database)
    assert index.view() is view
    assert len(queries) == 1
    assert "sum(trueup_changes.sequence " in queries[0]


def test_after_a_write_of_its_own_a_process_does_not_ask_whether_there_was_one(
    small: tuple[Client, Index],
) -> None:
    client, index = small
    client.claim(100, {1: {"VCPU": 3}})
    queries = selected_from(client.application.database)
    assert used(index) == 3
    assert not [query for query in queries if "sum(trueup_changes" in query]
    assert len(queries) == 2, "what was published, and the usage that it is about"
    # That is over when the write is in the view.
    queries.clear()
    assert used(index) == 3
    assert len(queries) == 1


def test_unchanged_objects_are_shared(small: tuple[Client, Index]) -> None:
    client, index = small
    client.make_provider(2, inventories={"DISK_GB": 8}, traits=("HW_CPU_X86_AVX",))
    before = index.view()
    client.claim(100, {1: {"VCPU": 1}})
    after = index.view()
    assert (after.forest, after.providers_by_trait, after.traits_of) == (
        before.forest,
        before.providers_by_trait,
        before.traits_of,
    )
    assert after.providers_by_trait is before.providers_by_trait
    assert after.inventories["DISK_GB"] is before.inventories["DISK_GB"]


def test_foreign_writes_are_found_within_seconds(
    service: Client, other: Index, clock: Clock
) -> None:
    """Foreign writers publish nothing, and deleting a consumer changes no generation."""
    service.claim(100, {1: {"VCPU": 3}})
    assert used(other) == 3
    with service.application.database.transaction() as tx:
        tx.execute(delete(tables.allocations))
    clock.seconds += 5
    assert used(other) == 0
    service.put("/traits/CUSTOM_RED")
    with service.application.database.transaction() as tx:
        allocate(tx, 101, 2)
        bumped = update(tables.providers).values(generation=tables.providers.c.generation + 1)
        tx.execute(bumped)
        tx.execute(update(tables.inventories).values(total=9))
        tx.execute(insert(tables.aggregates).values(id=7, uuid=UUID(50)))
        tx.execute(
            insert(tables.provider_aggregates), [{"resource_provider_id": 1, "aggregate_id": 7}]
        )
        tx.execute(delete(tables.traits).where(tables.traits.c.name == "CUSTOM_RED"))
    clock.seconds += 5
    assert differences(other.view(), true_view(service)) == []
    assert other.view().inventories["VCPU"].capacity.tolist() == [9.0]


def test_foreign_writes_are_looked_for_after_a_pause_and_beside_the_requests(
    small: tuple[Client, Index], clock: Clock
) -> None:
    client, index = small
    clock.seconds += 5
    index.view()
    with client.application.database.transaction() as tx:
        allocate(tx, 101, 2)
    clock.seconds += 1
    assert used(index) == 0

    searching, released = stopped_search(client.application.database)
    clock.seconds += 2
    assert used(index) == 0
    assert searching.wait(30)
    client.claim(102, {1: {"VCPU": 1}})
    assert used(index) == 3
    released.set()
    clock.seconds += 5
    assert used(index) == 3
    assert differences(index.view(), true_view(client)) == []


def test_changes_that_requests_read_meanwhile_survive_a_search(
    small: tuple[Client, Index], clock: Clock
) -> None:
    """The search found a foreign write in an older snapshot than the one of the last request."""
    client, index = small
    client.make_provider(2, inventories={"VCPU": 8})
    index.view()
    with client.application.database.transaction() as tx:
        allocate(tx, 101, 2)
    searching, released = stopped_search(client.application.database)
    clock.seconds += 2
    index.view()
    assert searching.wait(30)
    client.claim(102, {2: {"VCPU": 1}})
    assert (used(index, 1), used(index, 2)) == (0, 1)
    released.set()
    clock.seconds += 5
    assert (used(index, 1), used(index, 2)) == (2, 1)
    assert differences(index.view(), true_view(client)) == []


def test_skipped_rows_do_not_look_like_foreign_writes(
    small: tuple[Client, Index], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, index = small
    with client.application.database.transaction() as tx:
        allocate(tx, 101, 2)
        row = {"consumer_id": UUID(102), "resource_provider_id": 99, "resource_class_id": 5}
        tx.execute(insert(tables.allocations), row | {"used": 1})
    clock.seconds += 5
    assert used(index) == 2
    monkeypatch.setattr(store.ledger_rows, "all_providers", None)
    clock.seconds += 5
    assert used(index) == 2


def test_a_worker_that_was_detached_stays_current(service: Client, other: Index) -> None:
    migrations.detach(service.application.database)
    assert service.claim(100, {1: {"VCPU": 3}}).status == 204
    assert used(other) == 3
    migrations.detach(service.application.database)
    assert used(other) == 3
    assert service.claim(101, {1: {"VCPU": 3}}).status == 204
    assert used(other) == 6


def test_each_skipped_row_is_logged_once(
    small: tuple[Client, Index], clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    client, index = small
    row = {"resource_provider_id": 1, "resource_class_id": 99999, "total": 1, "reserved": 0}
    row |= {"min_unit": 1, "max_unit": 1, "step_size": 1, "allocation_ratio": 1.0}
    with client.application.database.transaction() as tx:
        tx.execute(insert(tables.inventories), row)
        changes.note(tx, changes.EVERYTHING)
    caplog.set_level(logging.WARNING)
    for _ in range(2):
        assert list(index.view().inventories) == ["VCPU"]
        client.claim(100, {1: {"VCPU": 1}})
    assert [record.getMessage() for record in caplog.records] == [
        "Left out of candidates: an inventory of provider row 1: there is no resource class 99999. "
        "See 'trueup-manage db fsck'."
    ]
    assert client.get("/allocation_candidates?resources=VCPU:1").status == 200


def test_a_view_that_is_damaged_is_loaded_again_and_said_to_be(
    small: tuple[Client, Index], clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    client, index = small
    client.claim(100, {1: {"VCPU": 3}})
    clock.seconds += 5
    assert used(index) == 3
    index.view().inventories["VCPU"].used[:] = 1
    with mock.patch.object(client.application.database.meter, "view_damaged") as counted:
        clock.seconds += 5
        assert used(index) == 3
        clock.seconds += 5
        assert used(index) == 3
    assert counted.call_count == 1
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert UUID(1) in record.getMessage()
