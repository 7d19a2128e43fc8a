# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any

from sqlalchemy import event, insert, update

from tests.placement.client import UUID, Client
from trueup.placement.store import picture, schema, tables
from trueup.placement.store.picture import Picture, ProviderRow, StockRow

FAST, SLOW = "HW_CPU_X86_SSE", "HW_CPU_X86_AVX"


def take(client: Client) -> Picture:
    with client.application.database.reading(snapshot=True) as tx:
        return picture.whole(tx)


def test_everything_is_in_the_picture(client: Client) -> None:
    amounts = {"total": 10, "reserved": 2, "allocation_ratio": 1.5, "min_unit": 2, "max_unit": 6}
    client.make_provider(
        1, inventories={"VCPU": amounts | {"step_size": 2}}, traits=(SLOW, FAST), aggregates=(50,)
    )
    client.make_provider(2, 1, inventories={"DISK_GB": 5})
    client.claim(100, {1: {"VCPU": 2}})
    client.claim(101, {1: {"VCPU": 4}})

    found = take(client)

    one, two = (row.id for row in found.providers)
    assert found.providers == [
        ProviderRow(one, UUID(1), one, None),
        ProviderRow(two, UUID(2), one, one),
    ]
    vcpu, disk = found.class_ids["VCPU"], found.class_ids["DISK_GB"]
    assert set(found.stocks) == {
        StockRow(one, vcpu, 10, 2, 1.5, 2, 6, 2, 6),
        StockRow(two, disk, 5, 0, 1.0, 1, 2**31 - 1, 1, 0),
    }
    traits = sorted([found.trait_ids[FAST], found.trait_ids[SLOW]])
    assert found.trait_pairs == [(one, trait) for trait in traits]
    assert found.aggregate_pairs == [(one, UUID(50))]


def test_a_picture_is_of_one_moment(serve: Callable[..., Client], database_url: str) -> None:
    """Somebody else writes after its first statement, and nothing of that is in it."""
    schema.create(database_url)
    client, other = serve(database_url), serve(database_url)
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
    assert [row.uuid for row in after.providers] == [UUID(1), UUID(2)]
    assert sorted((row.total, row.used) for row in after.stocks) == [(4, 0), (8, 2)]
    # Some databases sum to decimals.
    assert {type(row.used) for row in after.stocks} == {int}
    assert len(after.trait_pairs) == len(after.aggregate_pairs) == 1


def test_who_has_no_root_is_seen_by_nobody(client: Client) -> None:
    client.make_provider(1)
    client.make_provider(2)
    with client.application.database.transaction() as tx:
        orphaned = update(tables.providers).where(tables.providers.c.uuid == UUID(1))
        tx.execute(orphaned.values(root_provider_id=None))
    assert [row.uuid for row in take(client).providers] == [UUID(2)]


def test_what_nobody_owns_is_used(client: Client) -> None:
    client.make_provider(1, inventories={"VCPU": 8})
    client.claim(100, {1: {"VCPU": 2}})
    with client.application.database.transaction() as tx:
        tx.execute(tables.consumers.delete())
        row = {"resource_provider_id": 1, "resource_class_id": 0, "used": 1}
        tx.execute(insert(tables.allocations), row | {"consumer_id": UUID(199)})
    assert [row.used for row in take(client).stocks] == [3]
