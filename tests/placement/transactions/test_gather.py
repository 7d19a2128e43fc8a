# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import update

from tests.placement.client import UUID, Client
from trueup.model.errors import ProviderNotFound
from trueup.placement.store import tables
from trueup.placement.store.engine.database import Transaction, in_transaction
from trueup.placement.transactions.gather import locked_provider, locked_provider_details

WRITERS = 12


def test_no_write_happens_between_reading_a_provider_and_changing_it(
    serve: Callable[..., Client], ledger_url: str
) -> None:
    """Each writes one more than it read: a provider that was not locked would lose some."""
    client = serve(ledger_url)
    client.make_provider(1)

    @in_transaction
    def count_on(tx: Transaction) -> int:
        seen = locked_provider(tx, UUID(1))
        row = update(tables.providers).where(tables.providers.c.id == seen.id)
        tx.execute(row.values(generation=seen.generation + 1))
        return seen.generation

    with ThreadPoolExecutor(4) as pool:
        seen = sorted(pool.map(count_on, [client.application.database] * WRITERS))
    assert seen == list(range(WRITERS))
    assert client.get(f"/resource_providers/{UUID(1)}").json["generation"] == WRITERS


def test_a_provider_that_does_not_exist_is_refused_by_its_uuid(client: Client) -> None:
    client.make_provider(1)
    with client.application.database.transaction() as tx:
        few, whole = locked_provider(tx, UUID(1)), locked_provider_details(tx, UUID(1))
        assert (few.id, few.generation, whole.name) == (whole.id, whole.generation, "provider 1")
        for read in (locked_provider, locked_provider_details):
            with pytest.raises(ProviderNotFound, match=UUID(99)):
                read(tx, UUID(99))
