# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.placement.client import UUID, Client
from trueup.model.errors import (
    ProviderNotFound,
    StaleProvider,
    StandardTrait,
    TraitInUse,
    TraitNotFound,
    TraitsNotFound,
)
from trueup.placement.store.engine.database import Database
from trueup.placement.store.rows import class_and_trait_names
from trueup.placement.transactions import traits

AVX, SSE, FAST = "HW_CPU_X86_AVX", "HW_CPU_X86_SSE", "CUSTOM_FAST"


@pytest.fixture
def database(client: Client) -> Database:
    client.make_provider(1)
    return client.application.database


def exists(database: Database, name: str) -> bool:
    with database.reading() as tx:
        return class_and_trait_names.trait(tx, name) is not None


def of_provider(client: Client) -> tuple[list[str], int]:
    shown = client.get(f"/resource_providers/{UUID(1)}/traits").json
    return shown["traits"], shown["resource_provider_generation"]


def test_a_trait_that_exists_is_not_made_again(database: Database) -> None:
    assert traits.create(database, FAST) == (True, None)
    is_new, since = traits.create(database, FAST)
    assert not is_new
    assert since is not None
    assert traits.create(database, FAST) == (False, since)


def test_only_unused_traits_of_operators_are_deleted(client: Client, database: Database) -> None:
    traits.create(database, FAST)
    traits.replace(database, UUID(1), [FAST])
    with pytest.raises(TraitInUse, match=FAST):
        traits.delete(database, FAST)
    with pytest.raises(StandardTrait, match=AVX):
        traits.delete(database, AVX)
    assert exists(database, FAST)
    assert exists(database, AVX)
    traits.replace(database, UUID(1), [])
    traits.delete(database, FAST)
    assert not exists(database, FAST)
    with pytest.raises(TraitNotFound, match=FAST):
        traits.delete(database, FAST)


def test_a_provider_has_exactly_the_traits_of_the_last_write(
    client: Client, database: Database
) -> None:
    generation, found = traits.replace(database, UUID(1), [SSE, AVX], 0)
    assert generation == 1
    assert sorted(word.name for word in found) == [AVX, SSE]
    assert [word.id for word in found] == sorted(word.id for word in found)
    assert traits.replace(database, UUID(1), [SSE], 1)[0] == 2
    assert of_provider(client) == ([SSE], 2)


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
