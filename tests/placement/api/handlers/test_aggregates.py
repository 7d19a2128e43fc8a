# SPDX-License-Identifier: Apache-2.0
from tests.placement.client import UUID, Client

PATH = f"/resource_providers/{UUID(1)}/aggregates"


def test_before_1_19_the_generation_is_neither_checked_nor_changed(client: Client) -> None:
    client.make_provider(1)
    assert client.put(PATH, [UUID(5)], version="1.18").json == {"aggregates": [UUID(5)]}
    assert client.get(PATH).json["resource_provider_generation"] == 0


def test_since_1_19_the_generation_is_checked_and_changed(client: Client) -> None:
    client.make_provider(1)
    body = {"aggregates": [UUID(5), UUID(6)], "resource_provider_generation": 0}
    assert client.put(PATH, body).json == {**body, "resource_provider_generation": 1}
    assert client.put(PATH, body).error["code"] == "placement.concurrent_update"
    fewer = {"aggregates": [UUID(6)], "resource_provider_generation": 1}
    assert client.put(PATH, fewer).status == 200
    assert client.get(PATH).json["aggregates"] == [UUID(6)]


def test_a_missing_provider_is_reported_before_a_bad_body(client: Client) -> None:
    assert client.put(PATH, {"bad": 1}).status == 404
