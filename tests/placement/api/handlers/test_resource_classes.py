# SPDX-License-Identifier: Apache-2.0
from tests.placement.client import UUID, Client

GOLD = "/resource_classes/CUSTOM_GOLD"


def test_put_makes_a_class_since_1_7(client: Client) -> None:
    assert client.put(GOLD).status == 201
    assert client.put(GOLD).status == 204
    assert client.get(GOLD).json["name"] == "CUSTOM_GOLD"
    assert client.put("/resource_classes/GOLD").status == 400


def test_put_renames_a_class_before(client: Client) -> None:
    client.post("/resource_classes", {"name": "CUSTOM_GOLD"})
    client.post("/resource_classes", {"name": "CUSTOM_TIN"})

    def rename(path: str, name: str) -> int:
        return client.put(path, {"name": name}, version="1.6").status

    assert rename(GOLD, "CUSTOM_TIN") == 409
    assert rename("/resource_classes/VCPU", "CUSTOM_CPU") == 400
    assert rename("/resource_classes/CUSTOM_NOBODY", "CUSTOM_CPU") == 404
    assert rename(GOLD, "CUSTOM_SILVER") == 200
    assert client.get(GOLD).status == 404


def test_ids_of_custom_classes_leave_room_for_standard_ones(client: Client) -> None:
    client.put(GOLD)
    with client.application.database.reading() as tx:
        found = tx.exec_driver_sql("SELECT max(id) FROM resource_classes").scalar()
    assert found == 10000


def test_used_and_standard_classes_stay(client: Client) -> None:
    client.put(GOLD)
    client.make_provider(1, inventories={"CUSTOM_GOLD": 1})
    assert client.delete(GOLD).status == 409
    assert client.delete("/resource_classes/VCPU").status == 400
    client.delete(f"/resource_providers/{UUID(1)}/inventories")
    assert client.delete(GOLD).status == 204
    assert client.delete(GOLD).status == 404
