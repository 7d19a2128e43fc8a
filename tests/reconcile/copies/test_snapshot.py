# SPDX-License-Identifier: Apache-2.0
"""A snapshot is the facts, in a file."""

import gzip
import stat

import pytest
from hypothesis import given

from tests.properties.clouds import drafts
from tests.reconcile.planning import facts_of
from tests.reconcile.test_collect import facts_of as collected
from trueup.reconcile.copies.snapshot import Snapshot, load, save
from trueup.reconcile.facts import Coverage, SourceStatus, Unread, Unsupported
from trueup.reconcile.files import FileUnreadable


@given(drafts())
def test_what_was_saved_is_loaded(tmp_path_factory, draft):
    path = tmp_path_factory.mktemp("snapshot") / "a.snapshot"
    facts = draft.facts()
    _ = facts.alive, facts.builds, "what was looked up is no part of it"
    save(Snapshot(facts), path)
    assert load(path) == Snapshot(facts)


def test_a_cloud_as_it_was_collected_is_loaded_with_its_coverage(small, tmp_path):
    facts = collected(small)
    save(Snapshot(facts, anonymized=True), tmp_path / "a.snapshot")
    assert load(tmp_path / "a.snapshot") == Snapshot(facts, anonymized=True)


def test_what_was_not_understood_is_kept(tmp_path):
    row, lacking = Unread("instances", "7", "uuid", "none"), Unsupported("a.b", "too old")
    answer = SourceStatus("cell1", True, 3, unread=(row,), unread_rows=1, unsupported=(lacking,))
    facts = facts_of("cell1\n  host h1\n")
    object.__setattr__(facts, "coverage", Coverage((answer,)))
    save(Snapshot(facts), tmp_path / "a.snapshot")
    assert load(tmp_path / "a.snapshot").facts.coverage.sources == (answer,)


def test_it_is_its_owners_and_whole_or_not_there(tmp_path):
    path = tmp_path / "a.snapshot"
    save(Snapshot(facts_of("cell1\n")), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_snapshot_of_another_format_is_refused_by_its_number(tmp_path):
    path = tmp_path / "a.snapshot"
    path.write_bytes(gzip.compress(b'{"format": 99}'))
    with pytest.raises(FileUnreadable, match="99"):
        load(path)
