# SPDX-License-Identifier: Apache-2.0
"""The contents of the cache; `tests/properties/test_index` checks that no text is outdated."""

import pytest

from trueup.placement.api.wire import summary_cache
from trueup.placement.api.wire.summary_cache import MISSING, SummaryCache


def cache_of(*texts: bytes) -> SummaryCache:
    """Providers a, b, ... with the revisions 0, 1, ..."""
    cache = SummaryCache()
    cache.add("abc"[: len(texts)], range(len(texts)), texts)
    return cache


def test_texts_are_found_by_revision() -> None:
    assert cache_of(b"one", b"two").get([1, 7, 0]) == [b"two", MISSING, b"one"]


def test_a_new_revision_replaces_that_of_the_same_provider() -> None:
    cache = cache_of(b"one", b"two")
    cache.add(["a"], [5], [b"uno"])
    assert cache.get([0, 1, 5]) == [MISSING, b"two", b"uno"]


def test_others_are_dropped_when_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary_cache, "SUMMARIES_BYTES_MAX", 8)
    cache = cache_of(b"1234", b"5678")
    cache.add("c", [2], [b"9"])
    assert cache.get([0, 1, 2]) == [MISSING, MISSING, b"9"]


def test_a_too_large_text_drops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary_cache, "SUMMARIES_BYTES_MAX", 8)
    cache = cache_of(b"1234", b"5678")
    cache.add("c", [2], [b"123456789"])
    assert cache.get([0, 1, 2]) == [b"1234", b"5678", MISSING]


def test_a_replaced_text_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary_cache, "SUMMARIES_BYTES_MAX", 8)
    cache = cache_of(b"1234", b"5678")
    cache.add("a", [5], [b"4321"])
    assert cache.get([1, 5]) == [b"5678", b"4321"]
