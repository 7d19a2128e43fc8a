# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import select

from tests.placement.client import UUID, Client
from trueup.placement.store import tables
from trueup.placement.store.engine import changes


def test_an_aggregate_that_several_writers_name_first_is_created_once(
    serve: Callable[..., Client], ledger_url: str
) -> None:
    client = serve(ledger_url)
    for number in range(1, 7):
        client.make_provider(number)

    def join(number: int) -> int:
        path = f"/resource_providers/{UUID(number)}/aggregates"
        body = {"aggregates": [UUID(50), UUID(51)], "resource_provider_generation": 0}
        return client.put(path, body).status

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(join, range(1, 7))) == {200}
    found = client.get(f"/resource_providers?member_of={UUID(50)}").json["resource_providers"]
    assert len(found) == 6


def test_equal_aggregates_still_raise_the_generation(
    serve: Callable[..., Client], ledger_url: str
) -> None:
    """The workers read only that generation again, and not the whole provider."""
    client = serve(ledger_url)
    client.make_provider(1, aggregates=(50,))
    database = client.application.database
    with database.reading() as tx:
        before = changes.vector(tx)
        key = tx.scalar(select(tables.providers.c.id))

    path = f"/resource_providers/{UUID(1)}/aggregates"
    body = {"aggregates": [UUID(50)], "resource_provider_generation": 1}
    assert client.put(path, body).json["resource_provider_generation"] == 2

    with database.reading() as tx:
        assert changes.news(tx, before).changed == changes.Changed(usage_of=frozenset({key}))
