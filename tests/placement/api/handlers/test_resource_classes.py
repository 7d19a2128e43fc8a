# SPDX-License-Identifier: Apache-2.0
from tests.placement.client import Client

GOLD = "/resource_classes/CUSTOM_GOLD"


def test_ids_of_custom_classes_leave_room_for_standard_ones(client: Client) -> None:
    client.put(GOLD)
    with client.application.database.reading() as tx:
        found = tx.exec_driver_sql("SELECT max(id) FROM resource_classes").scalar()
    assert found == 10000
