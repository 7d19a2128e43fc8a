# SPDX-License-Identifier: Apache-2.0
from tests.placement.client import Client

LONGEST = f"CUSTOM_{'A' * 248}"
BAD_NAMES = ["GOLD", "CUSTOM_", "CUSTOM_gold", "CUSTOM-GOLD", "XCUSTOM_GOLD", f"{LONGEST}A"]


def names(client: Client) -> list[str]:
    return [one["name"] for one in client.get("/resource_classes").json["resource_classes"]]


def test_a_class_is_its_name_and_a_link(client: Client) -> None:
    reply = client.post("/resource_classes", {"name": "CUSTOM_GOLD"})
    assert reply.status == 201
    assert reply.headers["location"] == "http://placement.example/resource_classes/CUSTOM_GOLD"
    shown = {
        "name": "CUSTOM_GOLD",
        "links": [{"rel": "self", "href": "/resource_classes/CUSTOM_GOLD"}],
    }
    assert client.get("/resource_classes/CUSTOM_GOLD").json == shown
    assert shown in client.get("/resource_classes").json["resource_classes"]


def test_operators_name_classes_with_the_custom_prefix(client: Client) -> None:
    for name in ("CUSTOM_9", "CUSTOM__", LONGEST):
        assert client.post("/resource_classes", {"name": name}).status == 201
        assert name in names(client)


def test_other_names_are_refused_wherever_they_stand(client: Client) -> None:
    client.put("/resource_classes/CUSTOM_GOLD")
    before = names(client)
    for name in BAD_NAMES:
        assert client.post("/resource_classes", {"name": name}).status == 400, name
        assert client.put(f"/resource_classes/{name}").status == 400, name
        renamed = client.put("/resource_classes/CUSTOM_GOLD", {"name": name}, version="1.6")
        assert renamed.status == 400, name
    assert names(client) == before


def test_other_forms_are_refused(client: Client) -> None:
    for body in ({}, [], "CUSTOM_GOLD", {"name": None}, {"name": "CUSTOM_GOLD", "more": 1}):
        reply = client.post("/resource_classes", body)
        assert reply.status == 400, body
        assert "JSON does not validate" in reply.error["detail"]
    assert "CUSTOM_GOLD" not in names(client)


def test_before_1_2_there_are_only_standard_classes(client: Client) -> None:
    assert client.get("/resource_classes", version="1.1").status == 404
    reply = client.post("/resource_classes", {"name": "CUSTOM_GOLD"}, version="1.1")
    assert reply.status == 404
    assert "CUSTOM_GOLD" not in names(client)
