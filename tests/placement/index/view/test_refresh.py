# SPDX-License-Identifier: Apache-2.0
"""The rows that a refresh reads; `tests/properties/test_index` checks that they suffice."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import delete, event, insert

from tests.placement.client import UUID, Client
from tests.placement.index.views import true_view
from trueup.placement.index.view import refresh
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.differences import differences
from trueup.placement.store import tables
from trueup.placement.store.engine.changes import Changed


def refreshed_by(client: Client, view: View, changed: Changed) -> tuple[View, list[str]]:
    """The refreshed view, and the tables that were read."""
    engine = client.application.database.engine
    read: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if statement.startswith("SELECT"):
            read.append(statement.rpartition("FROM ")[2].split()[0])

    event.listen(engine, "before_cursor_execute", note)
    with client.application.database.reading(snapshot=True) as tx:
        refreshed = refresh.refresh(tx, view, changed)
    event.remove(engine, "before_cursor_execute", note)
    return refreshed, read


@pytest.fixture
def cloud(client: Client) -> Client:
    for number in (1, 2):
        client.make_provider(number, inventories={"VCPU": 8}, traits=("HW_CPU_X86_AVX",))
    return client


def test_usage_is_one_query(cloud: Client) -> None:
    view = true_view(cloud)
    cloud.claim(100, {1: {"VCPU": 2}})
    refreshed, read = refreshed_by(cloud, view, Changed(usage_of=frozenset({1})))
    assert read == ["resource_providers"]
    assert differences(refreshed, true_view(cloud)) == []


def test_no_change_reads_nothing(cloud: Client) -> None:
    view = true_view(cloud)
    assert refreshed_by(cloud, view, Changed()) == (view, [])


def test_very_many_changes_are_read_with_the_rest(cloud: Client) -> None:
    view = true_view(cloud)
    cloud.claim(100, {1: {"VCPU": 2}})
    for changed in (
        Changed(usage_of=frozenset(range(1, 2000))),
        Changed(all_usage=True),
        Changed(providers=frozenset(range(1, 2000))),
        Changed(everything=True),
    ):
        assert differences(refreshed_by(cloud, view, changed)[0], true_view(cloud)) == []


def test_a_new_name_may_be_in_use_already(cloud: Client) -> None:
    """There are rows of a class that does not exist, and then the class is created."""
    row = {"resource_provider_id": 1, "resource_class_id": 12345, "total": 1, "reserved": 0}
    row |= {"min_unit": 1, "max_unit": 1, "step_size": 1, "allocation_ratio": 1.0}
    with cloud.application.database.transaction() as tx:
        tx.execute(insert(tables.inventories), row)
    view = true_view(cloud)
    assert view.skipped
    with cloud.application.database.transaction() as tx:
        tx.execute(insert(tables.resource_classes).values(id=12345, name="CUSTOM_LATE"))
    refreshed, _ = refreshed_by(cloud, view, Changed(names=True))
    assert "CUSTOM_LATE" in refreshed.inventories
    assert differences(refreshed, true_view(cloud)) == []


def test_a_deleted_name_that_is_in_use_loads_the_view_again(cloud: Client) -> None:
    view = true_view(cloud)
    with cloud.application.database.transaction() as tx:
        tx.execute(delete(tables.resource_classes).where(tables.resource_classes.c.name == "VCPU"))
    refreshed, _ = refreshed_by(cloud, view, Changed(names=True))
    assert refreshed.inventories == {}
    assert differences(refreshed, true_view(cloud)) == []


def test_the_ledger_becomes_columns(serve: Callable[..., Client], ledger_url: str) -> None:
    client = serve(ledger_url)
    big = {"total": 10, "reserved": 2, "allocation_ratio": 1.5, "max_unit": 4}
    client.make_provider(1, inventories={"VCPU": big}, traits=("HW_CPU_X86_AVX",), aggregates=(5,))
    client.make_provider(2, 1, traits=("HW_CPU_X86_SSE", "HW_CPU_X86_AVX"))
    client.make_provider(3, traits=("MISC_SHARES_VIA_AGGREGATE",), aggregates=(5,))
    client.claim(100, {1: {"VCPU": 3}})

    view = true_view(client)

    host, below, pool = (view.forest.by_uuid[UUID(number)] for number in (1, 2, 3))
    vcpu = view.inventories["VCPU"]
    assert (vcpu.positions.tolist(), vcpu.capacity.tolist(), vcpu.used.tolist()) == (
        [host],
        [12.0],
        [3],
    )
    assert vcpu.free().tolist() == [4]
    assert set(view.traits_of[below]) == {"HW_CPU_X86_SSE", "HW_CPU_X86_AVX"}
    ids = [view.trait_ids[name] for name in view.traits_of[below]]
    assert ids == sorted(ids)
    assert view.providers_by_trait["HW_CPU_X86_AVX"].tolist() == sorted([host, below])
    assert view.providers_by_aggregate[UUID(5)].tolist() == sorted([host, pool])
    assert view.sharing.tolist() == [pool]
    assert set(view.shared_with[pool].tolist()) == {host, pool}
    assert not view.is_flat


def test_a_cloud_without_trees_and_sharing_is_flat(client: Client) -> None:
    client.make_provider(1, inventories={"VCPU": 1})
    assert true_view(client).is_flat
