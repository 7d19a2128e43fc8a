# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

from sqlalchemy import update

from tests.placement.client import UUID, Client
from trueup.placement.store import tables

ROOT, CHILD, OTHER = 1, 2, 3


def test_the_same_provider_again_is_refused_by_its_uuid(client: Client) -> None:
    """Nova uses a provider that another thread created, but not after a name conflict."""
    client.make_provider(ROOT)
    again = client.post("/resource_providers", {"name": "provider 1", "uuid": UUID(ROOT)})
    assert f"provider uuid: {UUID(ROOT)} already exists" in again.error["detail"]


def test_a_generation_that_is_null_is_shown_and_counts_as_0_in_a_write(
    serve: Callable[..., Client], ledger_url: str
) -> None:
    """Upstream's schema permits it; only a manual change writes it."""
    client = serve(ledger_url)
    path = f"/resource_providers/{client.make_provider(1, inventories={'VCPU': 8})}"
    client.make_provider(2, 1)

    def forget_generations() -> None:
        with client.application.database.transaction() as tx:
            tx.execute(update(tables.providers).values(generation=None))

    forget_generations()
    for url in ("/resource_providers", f"/resource_providers?in_tree={UUID(2)}"):
        shown = client.get(url).json["resource_providers"]
        assert [provider["generation"] for provider in shown] == [None, None]
    assert client.get(path).json["generation"] is None
    renamed = client.put(path, {"name": "renamed"})
    assert (renamed.status, renamed.json["generation"]) == (200, None)
    added = client.post(f"{path}/inventories", {"resource_class": "DISK_GB", "total": 8})
    assert added.json["resource_provider_generation"] == 1
    for url, body in (
        ("/inventories/VCPU", {"total": 9}),
        ("/traits", {"traits": ["HW_CPU_X86_AVX2"]}),
        ("/aggregates", {"aggregates": [UUID(50)]}),
    ):
        forget_generations()
        assert client.put(path + url, {**body, "resource_provider_generation": 7}).status == 409
        changed = client.put(path + url, {**body, "resource_provider_generation": 0})
        assert changed.json["resource_provider_generation"] == 1
    forget_generations()
    assert client.claim(100, {1: {"VCPU": 1}}).status == 204
    assert client.get(path).json["generation"] == 1
    forget_generations()
    (held,) = client.get(f"/allocations/{UUID(100)}").json["allocations"].values()
    assert held == {"generation": None, "resources": {"VCPU": 1}}
    assert client.delete(f"/resource_providers/{UUID(2)}").status == 204
