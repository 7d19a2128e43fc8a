# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.page.paging import seen
from tests.reconcile.planning import BROKEN
from tests.reconcile.watch.watching import MINUTE, at
from trueup.reconcile.watch.errors import FolderUnusable, WatchedAlready
from trueup.reconcile.watch.memory import (
    Memory,
    after_failure,
    after_notifying,
    after_round,
    news_in,
)
from trueup.reconcile.watch.memory_file import Recalled, keep, kept_in, remembering

ONE = seen(BROKEN)
FULL = after_failure(
    after_round(Memory(), ONE.audit, ONE.facts.cells, 2.5), at(5), 1.0, "Placement is down"
)


def test_it_comes_back_as_it_was(tmp_path):
    full = after_notifying(FULL, news_in(FULL, MINUTE * 0))
    assert full.notified
    with remembering(tmp_path / "state") as path:
        assert kept_in(path, Memory) == Recalled()
        keep(path, full)
        assert kept_in(path, Memory) == Recalled(full)


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"{", b'{"format":1}', b'{"format":2,"memory":{}}', b"[]", b"null"]
)
def test_damage_costs_the_history_and_says_so(tmp_path, content):
    path = tmp_path / "watch.json"
    path.write_bytes(content)
    found = kept_in(path, Memory)
    assert found.value is None
    assert found.lost


def test_every_prefix_of_the_file_is_damage_and_no_other_memory(tmp_path):
    path = tmp_path / "watch.json"
    keep(path, FULL)
    whole = path.read_bytes()
    for length in range(0, len(whole) - 2, 37):
        path.write_bytes(whole[:length])
        assert kept_in(path, Memory).lost


def test_a_folder_is_for_one_watch_at_a_time(tmp_path):
    with remembering(tmp_path), pytest.raises(WatchedAlready), remembering(tmp_path):
        pass
    with remembering(tmp_path):
        pass


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderUnusable), remembering(tmp_path / "file"):
        pass
