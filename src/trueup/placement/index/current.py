# SPDX-License-Identifier: Apache-2.0
"""The view that a process keeps, and how it stays current: the one freshness rule.

Whoever asks gets a view that has everything that was acknowledged before, by whichever of our
processes. Other writers on the same tables are found by comparing, every few seconds.
"""

import gc
import logging
import time
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

from trueup.placement import store
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.foreign_writes import Residue, compared
from trueup.placement.index.view.load import load
from trueup.placement.index.view.refresh import follow
from trueup.placement.store import own_tables
from trueup.placement.store.availability import DatabaseError
from trueup.placement.store.changes import Vector
from trueup.placement.store.database import Database, Transaction

_COMPARE_SECONDS_MIN = 2.0
_COMPARE_SHARE_MAX = 0.05
"""How much of its time a process may spend on comparing."""

_log = logging.getLogger(__name__)


class _Kept(NamedTuple):
    view: View
    vector: Vector
    """What every writer had written when the view was read."""
    clock: int
    """The sum of that."""


class Index:
    """The view of one process. Safe to call from several threads; made at its first use."""

    def __init__(self, database: Database, now: Callable[[], float] = time.monotonic):
        self._database, self._now = database, now
        self._lock = Lock()
        self._kept: _Kept | None = None
        self._begun = self._ended = 0
        self._compare_at = 0.0
        self._residue: Residue = {}
        self._told: set[object] = set()

    def view(self) -> View:
        """The ledger of this moment, or a little later."""
        asked, kept = self._begun, self._kept
        if kept is not None and self._now() < self._compare_at and self._is_current(kept):
            return kept.view
        with self._lock:
            # SAFETY: somebody who went on before we asked may have missed what we must see.
            if self._kept is None or self._ended <= asked:
                self._begun += 1
                self._kept = self._go_on()
                self._ended = self._begun
            return self._kept.view

    def _is_current(self, kept: _Kept) -> bool:
        try:
            with self._database.reading() as tx:
                return store.changes.clock(tx) == kept.clock
        except DatabaseError as error:
            if own_tables.is_missing(error):
                return False
            raise

    def _go_on(self) -> _Kept:
        try:
            return self._read(self._kept)
        except DatabaseError as error:
            if not own_tables.is_missing(error):
                raise
            # Somebody detached us, and we still serve. What was written meanwhile was not told.
            self._database.add_own_tables()
            return self._read(None)

    def _read(self, kept: _Kept | None) -> _Kept:
        with self._database.reading(snapshot=True) as tx:
            vector = store.changes.vector(tx)
            if kept is None:
                view = _loaded(tx)
                self._compare_at = self._now() + _COMPARE_SECONDS_MIN
            else:
                view = follow(tx, kept.view, store.changes.since(tx, kept.vector, vector))
                if self._now() >= self._compare_at:
                    view = self._compare(tx, view)
        self._tell(view)
        return _Kept(view, vector, sum(vector.values()))

    def _compare(self, tx: Transaction, view: View) -> View:
        began = self._now()
        # Others need not wait for this to be told that they are current.
        self._compare_at = float("inf")
        try:
            view, self._residue = compared(tx, view, self._residue)
        finally:
            ended = self._now()
            pause = max(_COMPARE_SECONDS_MIN, (ended - began) / _COMPARE_SHARE_MAX)
            self._compare_at = ended + pause
        return view

    def _tell(self, view: View) -> None:
        for row in sorted(view.skipped - self._told):
            _log.warning("Left out of candidates: %s. See 'trueup-manage db fsck'.", row.text)
        self._told |= view.skipped


def _loaded(tx: Transaction) -> View:
    """The view of this snapshot.

    PERF: a picture is hundreds of thousands of objects that stay. Looking through them for garbage
    takes a third of the time in which they are made, and later a fifth of a large answer's.
    """
    is_on = gc.isenabled()
    gc.disable()
    try:
        view = load(tx)
    finally:
        if is_on:
            gc.enable()
    gc.freeze()
    return view
