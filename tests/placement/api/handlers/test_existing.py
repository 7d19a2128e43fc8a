# SPDX-License-Identifier: Apache-2.0
from tests.placement.client import UUID, Client


def test_a_refused_body_still_asks_for_the_provider(client: Client) -> None:
    path = f"/resource_providers/{UUID(1)}/inventories/VCPU"
    assert client.put(path, b"{").status == 404
    client.make_provider(1)
    assert client.put(path, b"{").status == 400
