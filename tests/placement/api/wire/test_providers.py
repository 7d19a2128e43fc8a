# SPDX-License-Identifier: Apache-2.0

from tests.placement.client import UUID, Client

PATH = f"/resource_providers/{UUID(1)}"


def test_awkward_names_are_shown_in_a_list_as_they_are_alone(client: Client) -> None:
    awkward = ["two\nlines", 'a quote", and a comma', '",\n  "', "\\", "ä \u2028", "[\n  ", "\n]"]
    for number, name in enumerate(awkward, start=1):
        client.post("/resource_providers", {"uuid": UUID(number), "name": name})
    found = client.get("/resource_providers").json["resource_providers"]
    assert [provider["name"] for provider in found] == awkward
    assert found == [
        client.get(f"/resource_providers/{provider['uuid']}").json for provider in found
    ]
    assert client.get("/resource_providers?name=nobody").json == {"resource_providers": []}


def test_a_parent_that_is_not_named_stays(client: Client) -> None:
    client.make_provider(2)
    client.make_provider(1, 2)
    renamed = client.put(PATH, {"name": "renamed"}).json
    assert (renamed["name"], renamed["parent_provider_uuid"]) == ("renamed", UUID(2))
    freed = client.put(PATH, {"name": "renamed", "parent_provider_uuid": None}).json
    assert (freed["parent_provider_uuid"], freed["root_provider_uuid"]) == (None, UUID(1))
