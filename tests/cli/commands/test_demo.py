# SPDX-License-Identifier: Apache-2.0
"""`trueup demo` plants drift, finds all of it and repairs all of it."""

import tempfile

import pytest

from tests.cli.running import trueup
from trueup.lab import Kind
from trueup.reconcile.defects import DEFECTS


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """Where the demo puts what it makes."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_all_that_was_planted_is_found_and_repaired(own_folder, state):
    ran = trueup("demo", "-f", "json")
    assert ran.code == 0, ran.err
    rows = ran.json()
    kinds = {kind.value for kind in Kind}
    assert [row["Defect"] for row in rows] == [one.NAME for one in DEFECTS if one.NAME in kinds]
    assert len(rows) == len(kinds)
    assert all(row["Planted"] == row["Found"] == row["Repaired"] == 5 for row in rows)
    assert all(row["Left"] == 0 for row in rows)
    assert "What to type next" in ran.err
    assert list(own_folder.iterdir()) == [], "nothing is left behind"
    assert not state.exists(), "the journals of others are not touched"


def test_the_story_is_told_in_its_order(own_folder):
    ran = trueup("demo", "--seed", 3)
    reported = ran.out
    places = [reported.index(f"{number}. ") for number in range(1, 6)]
    assert places == sorted(places)
    for command in ("trueup audit", "trueup plan", "trueup apply", "trueup undo"):
        assert command in reported
