# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import delete

from tests.placement.client import Client
from trueup.placement.index.view import verify as verifying
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.foreign_writes import NEVER, Comparison
from trueup.placement.index.view.verify import verify
from trueup.placement.store import tables


@pytest.fixture
def cloud(serve: Callable[..., Client], ledger_url: str) -> Client:
    cloud = serve(ledger_url)
    cloud.make_provider(1, inventories={"VCPU": 8})
    return cloud


def test_writes_during_the_verification_are_read(cloud: Client) -> None:
    consumers = iter(range(100, 108))

    def pause(_seconds: float) -> None:
        assert cloud.claim(next(consumers), {1: {"VCPU": 1}}).status == 204

    assert verify(cloud.application.database, 3, pause) == ([], [])


def test_foreign_writes_are_not_counted_as_defects(cloud: Client) -> None:
    cloud.claim(100, {1: {"VCPU": 1}})

    def pause(_seconds: float) -> None:
        with cloud.application.database.transaction() as tx:
            tx.execute(delete(tables.allocations))

    wrong, late = verify(cloud.application.database, 0, pause)
    assert wrong == []
    assert [
        (difference.what, difference.followed[:6], difference.loaded[:6]) for difference in late
    ] == [("inventory", "1 of 8", "0 of 8")]


def test_a_defect_is_shown(cloud: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refresh that does nothing, and a search for foreign writes that finds nothing."""
    monkeypatch.setattr(verifying, "refresh", lambda _tx, view, _changed: view)
    path = "/resource_providers/00000000-0000-4000-8000-000000000001/inventories/VCPU"
    body = {"resource_provider_generation": 1, "total": 9}

    def pause(_seconds: float) -> None:
        assert cloud.put(path, body).status == 200

    def find_nothing(_tx: Any, view: View, *_rest: Any) -> Comparison:
        return Comparison(view, NEVER, frozenset())

    monkeypatch.setattr(verifying, "compare", find_nothing)
    wrong, late = verify(cloud.application.database, 0, pause)
    assert [difference.what for difference in wrong] == ["inventory", "provider"]
    assert late == []
