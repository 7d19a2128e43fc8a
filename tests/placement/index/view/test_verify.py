# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

import pytest
from sqlalchemy import delete

from tests.placement.client import Client
from trueup.placement.index.view import verify as verifying
from trueup.placement.index.view.verify import verify
from trueup.placement.store import schema, tables
from trueup.placement.store.changes import Changed


@pytest.fixture
def cloud(serve: Callable[..., Client], database_url: str) -> Client:
    schema.create(database_url)
    cloud = serve(database_url)
    cloud.make_provider(1, inventories={"VCPU": 8})
    return cloud


def test_what_is_written_meanwhile_is_followed(cloud: Client) -> None:
    consumers = iter(range(100, 108))

    def pause(_seconds: float) -> None:
        assert cloud.claim(next(consumers), {1: {"VCPU": 1}}).status == 204

    assert verify(cloud.application.database, 3, pause) == ([], [])


def test_what_another_service_wrote_is_told_from_faults(cloud: Client) -> None:
    cloud.claim(100, {1: {"VCPU": 1}})

    def pause(_seconds: float) -> None:
        with cloud.application.database.transaction() as tx:
            tx.execute(delete(tables.allocations))

    wrong, late = verify(cloud.application.database, 0, pause)
    assert wrong == []
    assert [(one.what, one.followed[:6], one.loaded[:6]) for one in late] == [
        ("inventory", "1 of 8", "0 of 8")
    ]


def test_a_fault_is_shown(cloud: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A follow that does nothing, and a comparison that is blind for totals."""
    monkeypatch.setattr(verifying, "follow", lambda _tx, view, _changed: view)
    path = "/resource_providers/00000000-0000-4000-8000-000000000001/inventories/VCPU"
    body = {"resource_provider_generation": 1, "total": 9}

    def pause(_seconds: float) -> None:
        assert cloud.put(path, body).status == 200

    monkeypatch.setattr(verifying, "compared", lambda _tx, view, _residue: (view, Changed()))
    wrong, late = verify(cloud.application.database, 0, pause)
    assert [one.what for one in wrong] == ["inventory", "provider"]
    assert late == []
