# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.placement.client import UUID, Client
from trueup.model.errors import ProviderNotFound, StaleProvider, TraitsNotFound
from trueup.placement.store.engine.database import Database
from trueup.placement.transactions import traits

AVX, SSE, FAST = "HW_CPU_X86_AVX", "HW_CPU_X86_SSE", "CUSTOM_FAST"


@pytest.fixture
def database(client: Client) -> Database:
    client.make_provider(1)
    return client.application.database


def of_provider(client: Client) -> tuple[list[str], int]:
    shown = client.get(f"/resource_providers/{UUID(1)}/traits").json
    return shown["traits"], shown["resource_provider_generation"]


def test_a_trait_that_exists_is_not_made_again(database: Database) -> None:
    assert traits.create(database, FAST) == (True, None)
    is_new, since = traits.create(database, FAST)
    assert not is_new
    assert since is not None
    assert traits.create(database, FAST) == (False, since)


def test_without_a_change_the_generation_stays(client: Client, database: Database) -> None:
    traits.replace(database, UUID(1), [AVX, SSE], 0)
    assert traits.replace(database, UUID(1), [SSE, AVX, SSE], 1)[0] == 1
    assert of_provider(client)[1] == 1
    with pytest.raises(StaleProvider):
        traits.replace(database, UUID(1), [SSE, AVX], 0)


def test_a_refusal_changes_nothing(client: Client, database: Database) -> None:
    traits.replace(database, UUID(1), [AVX], 0)
    with pytest.raises(StaleProvider):
        traits.replace(database, UUID(1), [SSE], 0)
    with pytest.raises(TraitsNotFound) as refused:
        traits.replace(database, UUID(1), ["NOBODY", SSE, "CUSTOM_NOBODY", "NOBODY"], 1)
    assert refused.value.names == ("NOBODY", "CUSTOM_NOBODY")
    with pytest.raises(ProviderNotFound, match=UUID(99)):
        traits.replace(database, UUID(99), [SSE])
    assert of_provider(client) == ([AVX], 1)


def test_writers_of_one_trait_agree(serve: Callable[..., Client], ledger_url: str) -> None:
    """Several make it: one does. Deleted and given to a provider at once: only one of the two."""
    client = serve(ledger_url)
    database = client.application.database
    for number in range(1, 5):
        client.make_provider(number)
        with ThreadPoolExecutor(4) as pool:
            made = [is_new for is_new, _ in pool.map(traits.create, [database] * 4, [FAST] * 4)]
        assert sorted(made) == [False, False, False, True]
        body = {"resource_provider_generation": 0, "traits": [FAST]}
        path = f"/resource_providers/{UUID(number)}/traits"
        with ThreadPoolExecutor(2) as pool:
            given = pool.submit(client.put, path, body)
            deleted = pool.submit(client.delete, f"/traits/{FAST}")
        outcome = (given.result().status, deleted.result().status)
        assert outcome in {(200, 409), (400, 204)}
        assert client.get(path).json["traits"] == ([FAST] if outcome[0] == 200 else [])
        client.delete(path)
        client.delete(f"/traits/{FAST}")
