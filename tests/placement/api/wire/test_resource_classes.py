# SPDX-License-Identifier: Apache-2.0
from tests.placement.client import Client

LONGEST = f"CUSTOM_{'A' * 248}"
BAD_NAMES = ["GOLD", "CUSTOM_", "CUSTOM_gold", "CUSTOM-GOLD", "XCUSTOM_GOLD", f"{LONGEST}A"]


def names(client: Client) -> list[str]:
    return [listed["name"] for listed in client.get("/resource_classes").json["resource_classes"]]


def test_other_names_are_refused_wherever_they_stand(client: Client) -> None:
    client.put("/resource_classes/CUSTOM_GOLD")
    before = names(client)
    for name in BAD_NAMES:
        assert client.post("/resource_classes", {"name": name}).status == 400, name
        assert client.put(f"/resource_classes/{name}").status == 400, name
        renamed = client.put("/resource_classes/CUSTOM_GOLD", {"name": name}, version="1.6")
        assert renamed.status == 400, name
    assert names(client) == before
