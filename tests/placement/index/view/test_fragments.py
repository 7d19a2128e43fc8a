# SPDX-License-Identifier: Apache-2.0
"""What is kept; that it is never of another moment is part of `tests/properties/test_index`."""

import numpy as np
import pytest

from trueup.placement.index.view import fragments
from trueup.placement.index.view.fragments import Fragments


def kept(*texts: bytes) -> Fragments:
    made = Fragments()
    made.add(dict(enumerate(texts)))
    return made


def test_what_changed_is_not_taken_over() -> None:
    old, new = kept(b"zero", b"one", b"two"), Fragments()
    new.take_over(old, np.array([1, 1, 5]))
    assert new.known == {0: b"zero", 2: b"two"}
    new.add({1: b"uno"})
    assert old.known[1] == b"one"


def test_they_take_no_more_room_than_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragments, "FRAGMENTS_BYTES_MAX", 8)
    full = kept(b"1234", b"5678")
    assert len(full.known) == 2
    being_read = full.known
    full.add({2: b"9"})
    assert full.known == {}
    assert len(being_read) == 3
    full.add({0: b"1234"})
    assert full.known == {0: b"1234"}


def test_what_was_dropped_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragments, "FRAGMENTS_BYTES_MAX", 8)
    new = Fragments()
    new.take_over(kept(b"1234", b"5678"), np.array([0]))
    new.add({0: b"4321"})
    assert len(new.known) == 2
