# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

import pytest

from tests.placement.client import UUID, Client
from trueup.placement.store import schema

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


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_lists_may_be_very_long(
    serve: Callable[..., Client], fresh_database: Callable[[str], str], kind: str
) -> None:
    """PostgreSQL takes 65,535 values beside a statement. A build of SQLite may take fewer."""
    database_url = fresh_database(kind)
    schema.create(database_url)
    client = serve(database_url)
    client.make_provider(1, aggregates=(50,))
    many = [f"CUSTOM_{number}" for number in range(2**16)]
    body = {"resource_provider_generation": 1, "traits": many}
    assert client.put(PATH, body).status == 400
    listed = ",".join([*many, "HW_CPU_X86_AVX"])
    assert client.get(f"/traits?name=in:{listed}").json == {"traits": ["HW_CPU_X86_AVX"]}
    assert client.get(f"/resource_providers?required=in:{listed}").status == 400
    uuids = ",".join(UUID(number) for number in range(2**16))
    found = client.get(f"/resource_providers?member_of=in:{uuids}").json["resource_providers"]
    assert [one["uuid"] for one in found] == [UUID(1)]
