# SPDX-License-Identifier: Apache-2.0
from tests.placement.client import UUID, Client

PATH = f"/resource_providers/{UUID(1)}/traits"


def test_custom_traits_are_created_and_deleted(client: Client) -> None:
    assert client.put("/traits/CUSTOM_FAST").status == 201
    assert client.put("/traits/CUSTOM_FAST").status == 204
    assert client.get("/traits/CUSTOM_FAST").status == 204
    assert client.delete("/traits/CUSTOM_FAST").status == 204
    assert client.get("/traits/CUSTOM_FAST").status == 404


def test_standard_and_used_traits_stay(client: Client) -> None:
    client.put("/traits/CUSTOM_FAST")
    client.make_provider(1, traits=("CUSTOM_FAST",))
    assert client.delete("/traits/CUSTOM_FAST").status == 409
    assert client.delete("/traits/HW_CPU_X86_AVX").status == 400


def test_traits_are_listed_by_name_prefix_and_use(client: Client) -> None:
    client.put("/traits/CUSTOM_FAST")
    client.make_provider(1, traits=("HW_CPU_X86_AVX",))

    def listed(query: str) -> list[str]:
        return client.get(f"/traits?{query}").json["traits"]

    assert listed("name=startswith:CUSTOM_") == ["CUSTOM_FAST"]
    assert listed("name=in:CUSTOM_FAST,HW_CPU_X86_AVX,NOBODY&associated=true") == ["HW_CPU_X86_AVX"]
    assert "HW_CPU_X86_AVX" not in listed("associated=false")
    assert client.get("/traits?associated=perhaps").status == 400
    assert client.get("/traits?name=CUSTOM").status == 400


def test_the_generation_changes_only_if_the_traits_do(client: Client) -> None:
    client.make_provider(1)
    body = {"resource_provider_generation": 0, "traits": ["HW_CPU_X86_AVX"]}
    assert client.put(PATH, body).json["resource_provider_generation"] == 1
    assert client.put(PATH, body).status == 409
    again = client.put(PATH, {**body, "resource_provider_generation": 1})
    assert again.json["resource_provider_generation"] == 1
    unknown = {"resource_provider_generation": 1, "traits": ["NOBODY"]}
    assert "No such trait NOBODY" in client.put(PATH, unknown).error["detail"]
    assert client.delete(PATH).status == 204
    assert client.get(PATH).json == {"traits": [], "resource_provider_generation": 2}
