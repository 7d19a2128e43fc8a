# SPDX-License-Identifier: Apache-2.0
"""Workers whose database is replaced by an older copy of it: a backup, or a replica that lagged."""

import itertools
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.placement.client import UUID, Client
from tests.placement.index.test_current import used
from tests.placement.index.views import true_view
from tests.placement.index.watching import Clock
from trueup.placement.index.current import Index
from trueup.placement.index.view.differences import differences
from trueup.placement.store import schema
from trueup.placement.store.engine import changes
from trueup.placement.store.engine.database import Database


class Ledger:
    """A ledger in a file, and a copy of it that can take its place."""

    def __init__(self, folder: Path) -> None:
        self._file, self._copy = folder / "ledger.sqlite", folder / "copy.sqlite"
        self.url = f"sqlite:///{self._file}"
        schema.create(self.url)

    def back_up(self) -> None:
        self._replace(self._copy, self._file)

    def restore(self) -> None:
        self._replace(self._file, self._copy)

    @staticmethod
    def _replace(old: Path, new: Path) -> None:
        with closing(sqlite3.connect(new)) as source, closing(sqlite3.connect(old)) as target:
            source.backup(target)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path)


def test_a_worker_that_writes_on_sees_what_was_lost(
    ledger: Ledger, serve: Callable[..., Client]
) -> None:
    """Its next number must not stand for a lost one; and its claim hides the generation."""
    writer = serve(ledger.url)
    writer.make_provider(1, inventories={"VCPU": 8})
    with closing(Database(ledger.url)) as database:
        index = Index(database, Clock())
        ledger.back_up()
        larger = {"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 64}}}
        path = f"/resource_providers/{UUID(1)}/inventories"
        assert writer.put(path, larger).status == 200
        assert index.view().inventories["VCPU"].capacity.tolist() == [64]

        ledger.restore()
        assert writer.claim(100, {1: {"VCPU": 1}}).status == 204

        assert index.view().inventories["VCPU"].capacity.tolist() == [8]
        assert differences(index.view(), true_view(writer)) == []


def test_a_lost_write_and_a_new_one_are_not_taken_for_no_change(
    ledger: Ledger, serve: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sum of the numbers is then what it was.

    Two writers of a thousand have the same weight, and the comparison finds that; here, none have.
    """
    keys = itertools.count(1)
    monkeypatch.setattr(changes, "randbits", lambda bits: next(keys))
    one, two = serve(ledger.url), serve(ledger.url)
    one.make_provider(1, inventories={"VCPU": 8})
    two.make_provider(2, inventories={"VCPU": 8})
    with closing(Database(ledger.url)) as database:
        index = Index(database, Clock())
        ledger.back_up()
        one.claim(100, {1: {"VCPU": 8}})
        assert (used(index, 1), used(index, 2)) == (8, 0)

        ledger.restore()
        two.claim(101, {2: {"VCPU": 8}})

        assert (used(index, 1), used(index, 2)) == (0, 8)


def test_an_id_that_was_lost_and_given_again_is_another_provider(
    ledger: Ledger, serve: Callable[..., Client]
) -> None:
    """No sum over the rows shows it: both rows have the same numbers."""
    writer = serve(ledger.url)
    writer.make_provider(1, inventories={"VCPU": 8})
    with closing(Database(ledger.url)) as database:
        index = Index(database, Clock())
        ledger.back_up()
        writer.make_provider(2, inventories={"VCPU": 8})
        assert index.view().forest.uuids[1] == UUID(2)

        ledger.restore()
        writer.make_provider(3, inventories={"VCPU": 8})

        assert index.view().forest.uuids[1] == UUID(3)
        assert differences(index.view(), true_view(writer)) == []
