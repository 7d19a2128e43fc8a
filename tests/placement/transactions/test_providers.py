# SPDX-License-Identifier: Apache-2.0
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.placement.client import UUID, Client


def test_a_parent_with_a_new_child_is_not_deleted(
    serve: Callable[..., Client], ledger_url: str
) -> None:
    """Deleting it and giving it a child at the same time: only one of the two succeeds."""
    client = serve(ledger_url)
    for round_number in range(6):
        parent, child = UUID(10 + round_number), UUID(20 + round_number)
        client.post("/resource_providers", {"name": parent, "uuid": parent})
        body = {"name": child, "uuid": child, "parent_provider_uuid": parent}
        with ThreadPoolExecutor(2) as pool:
            made = pool.submit(client.post, "/resource_providers", body)
            deleted = pool.submit(client.delete, f"/resource_providers/{parent}")
        assert {made.result().status, deleted.result().status} in ({200, 409}, {400, 204})


def test_a_name_is_used_once(serve: Callable[..., Client], ledger_url: str) -> None:
    client = serve(ledger_url)
    with ThreadPoolExecutor(4) as pool:
        bodies = [{"name": "host"}] * 8
        replies = pool.map(lambda body: client.post("/resource_providers", body), bodies)
    assert Counter(reply.status for reply in replies) == {200: 1, 409: 7}


def test_a_name_is_spelled_in_another_way(serve: Callable[..., Client], ledger_url: str) -> None:
    """MariaDB holds these names equal, and a provider may always change its own."""
    client = serve(ledger_url)
    path = f"/resource_providers/{client.make_provider(1)}"
    client.make_provider(2)
    for name in ("PROVIDER 1", "Provider 1 ", "provider 1"):
        reply = client.put(path, {"name": name})
        assert (reply.status, reply.json["name"]) == (200, name)
        assert client.get(path).json["name"] == name
    assert client.put(path, {"name": "provider 2"}).status == 409
