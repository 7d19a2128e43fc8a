# SPDX-License-Identifier: Apache-2.0
"""The export leaves out rows as upstream's API does, and its batches lose none."""

from collections.abc import Callable

import pytest

from tests.clouds import damage
from tests.placement.client import UUID, Client
from trueup.placement.store.engine.database import Database
from trueup.placement.store.reads import export


@pytest.fixture
def filled(serve: Callable[..., Client], empty_ledger: str) -> str:
    """Five providers, each with a holder."""
    client = serve(empty_ledger)
    for number in range(1, 6):
        client.make_provider(number, inventories={"VCPU": 8})
        client.claim(10 + number, {number: {"VCPU": number}})
    return empty_ledger


def exported(url: str) -> tuple[dict[str, export.ProviderRecord], dict[str, dict]]:
    database = Database(url)
    with database.reading(snapshot=True) as tx:
        classes = export.class_names(tx)
        providers = list(export.all_providers(tx, classes))
        uuids = {row.provider.id: row.provider.uuid for row in providers}
        holders = list(export.all_consumers(tx, classes, uuids))
    database.close()
    return (
        {row.provider.uuid: row for row in providers},
        {row.consumer.uuid: row.allocations for row in holders},
    )


def test_batches_lose_nothing(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = exported(filled)
    assert len(whole[0]) == len(whole[1]) == 5
    for name in ("_PROVIDERS", "_CONSUMERS"):
        monkeypatch.setattr(export, name, getattr(export, name).limit(2))
    assert exported(filled) == whole


@pytest.mark.parametrize(
    ("harm", "providers", "holders"),
    [
        ("DELETE FROM consumers WHERE uuid = '{consumer}'", 5, 4),
        ("DELETE FROM allocations WHERE consumer_id = '{consumer}'", 5, 4),
        ("UPDATE consumers SET project_id = 999 WHERE uuid = '{consumer}'", 5, 5),
        ("UPDATE inventories SET resource_class_id = 999", 5, 5),
        ("UPDATE allocations SET resource_class_id = 999 WHERE consumer_id = '{consumer}'", 5, 4),
        ("UPDATE resource_providers SET root_provider_id = NULL WHERE uuid = '{provider}'", 4, 4),
    ],
)
def test_rows_that_upstream_does_not_list_are_left_out(filled, harm, providers, holders) -> None:
    damage.execute(filled, harm.format(consumer=UUID(11), provider=UUID(1)))
    found, held = exported(filled)
    assert (len(found), len(held)) == (providers, holders)
