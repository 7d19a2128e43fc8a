# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

from tests.placement.client import UUID, Client
from tests.placement.index.views import true_view
from trueup.placement.store import schema


def test_the_ledger_becomes_columns(serve: Callable[..., Client], database_url: str) -> None:
    schema.create(database_url)
    client = serve(database_url)
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
