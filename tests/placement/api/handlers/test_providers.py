# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

import pytest
from sqlalchemy import update

from tests.placement.client import UUID, Client
from trueup.placement.store import tables

ROOT, CHILD, OTHER = 1, 2, 3
CHILD_PATH = f"/resource_providers/{UUID(CHILD)}"


def names(client: Client, query: str, version: str = "1.39") -> list[str]:
    reply = client.get(f"/resource_providers?{query}", version=version)
    assert reply.status == 200, reply.text
    return [one["name"].removeprefix("provider ") for one in reply.json["resource_providers"]]


def test_creating_answers_with_the_provider_from_1_20(client: Client) -> None:
    early = client.post("/resource_providers", {"name": "a"}, version="1.19")
    assert (early.status, early.text) == (201, "")
    late = client.post("/resource_providers", {"name": "b", "uuid": UUID(1).replace("-", "")})
    assert (late.status, late.json["uuid"], late.json["generation"]) == (200, UUID(1), 0)


def test_names_and_uuids_are_unique(client: Client) -> None:
    client.make_provider(ROOT)
    same_name = client.post("/resource_providers", {"name": "provider 1"})
    same_uuid = client.post("/resource_providers", {"name": "other", "uuid": UUID(ROOT)})
    assert (same_name.status, same_uuid.status) == (409, 409)
    assert "name: provider 1 already exists" in same_name.error["detail"]
    assert f"uuid: {UUID(ROOT)} already exists" in same_uuid.error["detail"]
    assert same_name.error["code"] == "placement.duplicate_name"


def test_the_same_provider_again_is_refused_by_its_uuid(client: Client) -> None:
    """Nova goes on with a provider that another thread created, but not after a name conflict."""
    client.make_provider(ROOT)
    again = client.post("/resource_providers", {"name": "provider 1", "uuid": UUID(ROOT)})
    assert f"provider uuid: {UUID(ROOT)} already exists" in again.error["detail"]


def test_a_tree_moves_with_its_root(client: Client) -> None:
    client.make_provider(ROOT)
    client.make_provider(CHILD, ROOT)
    client.make_provider(4, CHILD)
    client.make_provider(OTHER)
    body = {"name": "provider 2", "parent_provider_uuid": UUID(OTHER)}
    assert client.put(CHILD_PATH, body, version="1.36").status == 400
    assert client.put(CHILD_PATH, body).json["root_provider_uuid"] == UUID(OTHER)
    below = client.get(f"/resource_providers/{UUID(4)}").json
    assert below["root_provider_uuid"] == UUID(OTHER)
    assert client.put(CHILD_PATH, {**body, "parent_provider_uuid": None}).status == 200
    assert names(client, f"in_tree={UUID(4)}") == ["2", "4"]


def test_a_provider_in_use_is_not_deleted(client: Client) -> None:
    client.make_provider(ROOT, inventories={"VCPU": 8})
    client.make_provider(CHILD, ROOT)
    above = client.delete(f"/resource_providers/{UUID(ROOT)}")
    assert above.error["code"] == "placement.resource_provider.cannot_delete_parent"
    assert client.delete(CHILD_PATH).status == 204
    client.claim(100, {ROOT: {"VCPU": 1}})
    used = client.delete(f"/resource_providers/{UUID(ROOT)}")
    assert used.error["code"] == "placement.resource_provider.inuse"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["1", "2", "3"]),
        ("name=provider 2", ["2"]),
        (f"uuid={UUID(OTHER)}", ["3"]),
        (f"in_tree={UUID(CHILD)}", ["1", "2"]),
        (f"in_tree={UUID(99)}", []),
        ("resources=VCPU:4", ["1", "3"]),
        ("resources=VCPU:4,DISK_GB:1", ["3"]),
        ("required=HW_CPU_X86_AVX", ["1", "2"]),
        ("required=!HW_CPU_X86_AVX", ["3"]),
        ("required=in:HW_CPU_X86_AVX,HW_CPU_X86_SSE", ["1", "2", "3"]),
        ("required=HW_CPU_X86_AVX&required=HW_CPU_X86_SSE", ["2"]),
        (f"member_of={UUID(50)}", ["1", "3"]),
        (f"member_of={UUID(50)}&member_of={UUID(51)}", ["3"]),
        (f"member_of=!{UUID(51)}", ["1", "2"]),
        (f"member_of=in:{UUID(51)},{UUID(52)}", ["3"]),
        (f"member_of={UUID(99)}", []),
    ],
)
def test_a_provider_must_match_all_filters(client: Client, query: str, expected: list[str]) -> None:
    client.make_provider(
        ROOT, inventories={"VCPU": 8}, traits=("HW_CPU_X86_AVX",), aggregates=(50,)
    )
    client.make_provider(CHILD, ROOT, traits=("HW_CPU_X86_AVX", "HW_CPU_X86_SSE"))
    client.make_provider(
        OTHER,
        inventories={"VCPU": 8, "DISK_GB": 8},
        traits=("HW_CPU_X86_SSE",),
        aggregates=(50, 51),
    )
    client.claim(100, {OTHER: {"VCPU": 4}})
    assert names(client, query) == expected


def test_filters_name_what_exists(client: Client) -> None:
    for query in ("required=NOBODY", "resources=NOBODY:1"):
        reply = client.get(f"/resource_providers?{query}")
        assert reply.status == 400
        assert "NOBODY" in reply.error["detail"]


def test_a_missing_provider_is_reported_before_a_bad_body(client: Client) -> None:
    assert client.put(CHILD_PATH, {"bad": 1}).status == 404
    client.make_provider(CHILD)
    assert client.put(CHILD_PATH, {"bad": 1}).status == 400


def test_a_generation_that_is_null_is_shown_and_counts_as_0_in_a_write(
    serve: Callable[..., Client], ledger_url: str
) -> None:
    """Upstream's schema allows it; nothing but a hand writes it."""
    client = serve(ledger_url)
    path = f"/resource_providers/{client.make_provider(1, inventories={'VCPU': 8})}"
    client.make_provider(2, 1)

    def forget_generations() -> None:
        with client.application.database.transaction() as tx:
            tx.execute(update(tables.providers).values(generation=None))

    forget_generations()
    for url in ("/resource_providers", f"/resource_providers?in_tree={UUID(2)}"):
        shown = client.get(url).json["resource_providers"]
        assert [one["generation"] for one in shown] == [None, None]
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
