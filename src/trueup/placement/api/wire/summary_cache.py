# SPDX-License-Identifier: Apache-2.0
"""A cache of the JSON texts of provider summaries.

PERF: two thirds of a large answer are the same as in the answer before, because a claim changes
only one of its hosts.
"""

from collections.abc import Sequence
from itertools import repeat
from threading import Lock

SUMMARIES_BYTES_MAX = 16 << 20
"""Enough for the summaries of ten thousand hosts with forty traits each."""

MISSING = b""


class SummaryCache:
    """Texts by revision of the summary; one text for each provider. Safe for several threads."""

    def __init__(self) -> None:
        self._texts: dict[int, bytes] = {}
        self._revisions: dict[str, int] = {}
        """By UUID of the provider."""
        self._size_bytes = 0
        self._lock = Lock()

    def get(self, revisions: Sequence[int]) -> list[bytes]:
        """The text of each of these revisions, or MISSING."""
        return list(map(self._texts.get, revisions, repeat(MISSING)))

    def add(self, uuids: Sequence[str], revisions: Sequence[int], texts: Sequence[bytes]) -> None:
        """Replace the texts of older revisions of the same providers.

        If the cache is full, all older texts are dropped; new texts that exceed it are not kept.
        """
        added_bytes = sum(map(len, texts))
        if added_bytes > SUMMARIES_BYTES_MAX:
            return
        with self._lock:
            for uuid in uuids:
                replaced = self._texts.pop(self._revisions.pop(uuid, -1), MISSING)
                self._size_bytes -= len(replaced)
            if self._size_bytes + added_bytes > SUMMARIES_BYTES_MAX:
                self._texts, self._revisions, self._size_bytes = {}, {}, 0
            self._texts.update(zip(revisions, texts, strict=True))
            self._revisions.update(zip(uuids, revisions, strict=True))
            self._size_bytes += added_bytes
