# SPDX-License-Identifier: Apache-2.0
"""Placement's database, when it is not as it should be. What it gives: test_ledger.py."""

from pathlib import Path

import pytest

from tests.clouds import damage
from trueup.placement.store import schema
from trueup.reconcile.sources.errors import DatabaseUnusable, Unreachable
from trueup.reconcile.sources.placement.database import PlacementDatabase


@pytest.fixture
def empty_ledger(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'placement.sqlite'}"
    schema.create(url)
    return url


def test_an_empty_ledger_is_an_answer(empty_ledger):
    ledger = PlacementDatabase(empty_ledger).ledger()
    assert (ledger.providers, ledger.consumers) == ({}, {})


def test_a_database_that_is_none_of_placements_is_unreachable(empty_ledger):
    damage.execute(empty_ledger, "DROP TABLE inventories")
    with pytest.raises(Unreachable) as silent:
        PlacementDatabase(empty_ledger).ledger()
    assert silent.value.source == "Placement's database"


def test_what_is_no_database_url_is_said_at_once():
    with pytest.raises(DatabaseUnusable):
        PlacementDatabase("placement")
