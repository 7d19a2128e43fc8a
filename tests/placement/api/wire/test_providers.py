# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.placement.client import UUID, Client

PATH = f"/resource_providers/{UUID(1)}"


@pytest.mark.parametrize(
    ("version", "links"),
    [
        ("1.0", ["self", "inventories", "usages"]),
        ("1.1", ["self", "inventories", "usages", "aggregates"]),
        ("1.6", ["self", "inventories", "usages", "aggregates", "traits"]),
        ("1.11", ["self", "inventories", "usages", "aggregates", "traits", "allocations"]),
    ],
)
def test_links_lead_to_what_the_microversion_knows(
    client: Client, version: str, links: list[str]
) -> None:
    client.make_provider(1)
    shown = client.get(PATH, version=version).json["links"]
    assert [link["rel"] for link in shown] == links
    assert [link["href"] for link in shown] == [
        PATH,
        *(f"{PATH}/{name}" for name in links[1:]),
    ]


def test_trees_are_shown_from_1_14(client: Client) -> None:
    client.make_provider(2)
    client.make_provider(1, 2)
    early = client.get(PATH, version="1.13").json
    assert early.keys() == {"uuid", "name", "generation", "links"}
    late = client.get(PATH, version="1.14").json
    assert late.keys() - early.keys() == {"parent_provider_uuid", "root_provider_uuid"}
    assert (late["parent_provider_uuid"], late["root_provider_uuid"]) == (UUID(2), UUID(2))
    root = client.get(f"/resource_providers/{UUID(2)}").json
    assert (root["parent_provider_uuid"], root["root_provider_uuid"]) == (None, UUID(2))


def test_awkward_names_are_shown_in_a_list_as_they_are_alone(client: Client) -> None:
    awkward = ["two\nlines", 'a quote", and a comma', '",\n  "', "\\", "ä \u2028", "[\n  ", "\n]"]
    for number, name in enumerate(awkward, start=1):
        client.post("/resource_providers", {"uuid": UUID(number), "name": name})
    found = client.get("/resource_providers").json["resource_providers"]
    assert [one["name"] for one in found] == awkward
    assert found == [client.get(f"/resource_providers/{one['uuid']}").json for one in found]
    assert client.get("/resource_providers?name=nobody").json == {"resource_providers": []}


def test_without_a_uuid_the_provider_gets_one(client: Client) -> None:
    made = [client.post("/resource_providers", {"name": name}).json for name in ("a", "b")]
    assert len({one["uuid"] for one in made}) == 2
    for one in made:
        assert client.get(f"/resource_providers/{one['uuid']}").json["name"] == one["name"]


def test_a_uuid_without_dashes_is_kept_with_them(client: Client) -> None:
    body = {"name": "a", "uuid": UUID(1).replace("-", "")}
    reply = client.post("/resource_providers", body, version="1.0")
    assert reply.status == 201
    assert reply.headers["location"] == f"http://placement.example{PATH}"


def test_a_parent_that_is_not_named_stays(client: Client) -> None:
    client.make_provider(2)
    client.make_provider(1, 2)
    renamed = client.put(PATH, {"name": "renamed"}).json
    assert (renamed["name"], renamed["parent_provider_uuid"]) == ("renamed", UUID(2))
    freed = client.put(PATH, {"name": "renamed", "parent_provider_uuid": None}).json
    assert (freed["parent_provider_uuid"], freed["root_provider_uuid"]) == (None, UUID(1))


OTHER_PROVIDERS = [
    ({}, "1.39"),
    ({"name": 1}, "1.39"),
    ({"name": "a" * 201}, "1.39"),
    ({"name": "a", "uuid": "no uuid"}, "1.39"),
    ({"name": "a", "parent_provider_uuid": "no uuid"}, "1.39"),
    ({"name": "a", "parent_provider_uuid": None}, "1.13"),
    ({"name": "a", "generation": 3}, "1.39"),
    ([], "1.39"),
]


def test_other_providers_are_refused(client: Client) -> None:
    for body, version in OTHER_PROVIDERS:
        reply = client.post("/resource_providers", body, version=version)
        assert reply.status == 400, body
        assert "JSON does not validate" in reply.text
    assert client.get("/resource_providers").json == {"resource_providers": []}


def test_a_uuid_does_not_change(client: Client) -> None:
    client.make_provider(1)
    assert client.put(PATH, {"name": "a", "uuid": UUID(2)}).status == 400
    assert client.get(PATH).json["name"] == "provider 1"


FIRST_MICROVERSIONS = [
    (f"member_of={UUID(50)}", 3),
    ("resources=VCPU:1", 4),
    (f"in_tree={UUID(1)}", 14),
    ("required=HW_CPU_X86_AVX", 18),
    ("required=!HW_CPU_X86_AVX", 22),
    (f"member_of={UUID(50)}&member_of={UUID(51)}", 24),
    (f"member_of=!{UUID(50)}", 32),
    ("required=in:HW_CPU_X86_AVX,HW_CPU_X86_SSE", 39),
]


def test_each_filter_has_its_first_microversion(client: Client) -> None:
    for query, since in FIRST_MICROVERSIONS:
        for minor, status in ((since - 1, 400), (since, 200)):
            reply = client.get(f"/resource_providers?{query}", version=f"1.{minor}")
            assert reply.status == status, (query, minor)


OTHER_FILTERS = [
    "uuid=no",
    "in_tree=no",
    f"uuid={UUID(1).replace('-', '')}",
    "nobody=1",
    "resources=",
    "resources=VCPU",
    "resources=VCPU:0",
    "required=",
    "member_of=no",
]


def test_other_filters_are_refused(client: Client) -> None:
    for query in OTHER_FILTERS:
        assert client.get(f"/resource_providers?{query}").status == 400, query
