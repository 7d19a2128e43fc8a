# SPDX-License-Identifier: Apache-2.0
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.placement.client import UUID, Client


def test_of_writers_with_the_same_generation_one_succeeds(
    serve: Callable[..., Client], ledger_url: str
) -> None:
    client = serve(ledger_url)
    client.make_provider(1)

    def write(total: int) -> int:
        body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": total}}}
        return client.put(f"/resource_providers/{UUID(1)}/inventories", body).status

    with ThreadPoolExecutor(4) as pool:
        statuses = Counter(pool.map(write, range(1, 9)))
    assert statuses == {200: 1, 409: 7}
    assert client.get(f"/resource_providers/{UUID(1)}").json["generation"] == 1


def test_an_inventory_claimed_meanwhile_is_not_removed(
    serve: Callable[..., Client], ledger_url: str
) -> None:
    client = serve(ledger_url)
    for number in range(1, 5):
        client.make_provider(number, inventories={"VCPU": 8})
        with ThreadPoolExecutor(2) as pool:
            claimed = pool.submit(client.claim, 100 + number, {number: {"VCPU": 1}})
            removed = pool.submit(client.delete, f"/resource_providers/{UUID(number)}/inventories")
        outcome = (claimed.result().status, removed.result().status)
        assert outcome in {(204, 409), (409, 204)}
