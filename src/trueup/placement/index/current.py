# SPDX-License-Identifier: Apache-2.0
"""The view that a process keeps in memory, and how it stays current.

`view()` includes every write that any Trueup process acknowledged before the call. Writes of other
services to the same tables are searched every few seconds, in the background.
"""

import gc
import logging
import time
from collections.abc import Callable
from contextlib import nullcontext
from threading import Lock
from typing import NamedTuple

from trueup.placement import store
from trueup.placement.index.background import BackgroundTask, short_turns
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.foreign_writes import NEVER, compare
from trueup.placement.index.view.refresh import is_one_statement, load, refresh
from trueup.placement.store import own_tables
from trueup.placement.store.engine.availability import DatabaseError
from trueup.placement.store.engine.changes import Vector
from trueup.placement.store.engine.database import Database, Transaction

_log = logging.getLogger(__name__)


_DAMAGED = (
    "The view of the ledger was wrong in %d places where no Placement service has written: %s. It "
    "was loaded again. If nobody changed rows by hand, this is a defect of Trueup or of the memory."
)
_NAMED_MAX = 3

LOAD, REFRESH, COMPARISON = "load", "refresh", "comparison"
"""Why a view was read: to load the ledger, for published changes, or for foreign writes."""


class _Kept(NamedTuple):
    view: View
    vector: Vector
    """The changes that the view includes."""
    clock: int
    """That of the vector."""
    own_writes: int
    """`Database.published_count` before the view was read."""


class Index:
    """The view of one process, loaded by the first call of `view`. Safe for several threads."""

    def __init__(
        self,
        database: Database,
        now: Callable[[], float] = time.monotonic,
        *,
        owns_process: bool = False,
    ):
        """`owns_process`: the process serves this database, and does nothing else."""
        self._database, self._owns_process = database, owns_process
        self._lock = Lock()
        self._kept: _Kept | None = None
        self._refreshes_begun = self._refreshes_ended = 0
        self._search = BackgroundTask(self._search_foreign_writes, now)
        self._compared = NEVER
        self._logged: set[object] = set()

    def view(self) -> View:
        """The ledger as of this call, or later."""
        self._search.ask()
        begun_before, kept = self._refreshes_begun, self._kept
        if kept is not None and self._is_current(kept):
            return kept.view
        with self._lock:
            # SAFETY: a refresh that began before this call may lack a write that it must include.
            if self._kept is None or self._refreshes_ended <= begun_before:
                self._refreshes_begun += 1
                self._kept = self._refreshed()
                self._refreshes_ended = self._refreshes_begun
            return self._kept.view

    def _is_current(self, kept: _Kept) -> bool:
        if kept.own_writes != self._database.published_count:
            # PERF: this process has written since; that needs no query.
            return False
        try:
            with self._database.reading() as tx:
                return store.changes.clock(tx) == kept.clock
        except DatabaseError as error:
            if own_tables.is_missing(error):
                return False
            raise

    def _refreshed(self) -> _Kept:
        try:
            return self._read(self._kept)
        except DatabaseError as error:
            if not own_tables.is_missing(error):
                raise
            # `db detach` was run while the service is up. Writes since then were not published.
            self._database.add_own_tables()
            return self._read(None)

    def _read(self, kept: _Kept | None) -> _Kept:
        began, kind = time.perf_counter(), LOAD if kept is None else REFRESH
        # SAFETY: read before the snapshot, which then includes these writes.
        own_writes = self._database.published_count
        fresh = None if kept is None else self._with_usage(kept, own_writes)
        if fresh is None:
            with self._database.reading(snapshot=True) as tx:
                if kept is None:
                    fresh = _loaded(tx, own_writes, stays=self._owns_process)
                else:
                    fresh = _followed(tx, kept, own_writes)
        self._note_read(kind, began)
        self._database.meter.view_shows(len(fresh.view.forest), len(fresh.view.skipped))
        self._log_skipped(fresh.view)
        return fresh

    def _with_usage(self, kept: _Kept, own_writes: int) -> _Kept | None:
        """The view with the changes published since, or None if they are more than a little usage.

        PERF: candidates after a claim take two statements; a snapshot takes three more.
        SAFETY: usage is read after the vector. If it includes later changes, they are read again.
        """
        with self._database.reading() as tx:
            news = store.changes.news(tx, kept.vector)
            if not is_one_statement(news.changed):
                return None
            return _kept(refresh(tx, kept.view, news.changed), news.vector, own_writes)

    def _note_read(self, kind: str, began: float) -> None:
        self._database.meter.view_read(kind, time.perf_counter() - began)

    def _search_foreign_writes(self) -> None:
        with short_turns() if self._owns_process else nullcontext():
            self._find_foreign_writes()

    def _find_foreign_writes(self) -> None:
        """Compare the ledger with the view, and replace the view if they differ."""
        # SAFETY: taken before the snapshot, which then includes every change of this view.
        kept, began = self._kept, time.perf_counter()
        if kept is None:
            return
        try:
            with self._database.reading(snapshot=True) as tx:
                followed = _followed(tx, kept, kept.own_writes)
                view, self._compared, damaged = compare(
                    tx, followed.view, followed.vector, self._compared
                )
        except DatabaseError as error:
            if own_tables.is_missing(error):
                return
            raise
        self._note_read(COMPARISON, began)
        if damaged:
            self._database.meter.view_damaged()
            _log.error(_DAMAGED, len(damaged), ", ".join(sorted(damaged)[:_NAMED_MAX]))
        elif view is not followed.view:
            self._database.meter.foreign_writes_found()
        # SAFETY: in a restored database the clock may be the same, and requests notice nothing.
        elif followed.vector == kept.vector:
            return
        with self._lock:
            # Requests may have refreshed the old view meanwhile: read those changes again.
            self._refreshes_begun += 1
            self._kept = self._read(followed._replace(view=view))
            self._refreshes_ended = self._refreshes_begun

    def _log_skipped(self, view: View) -> None:
        for row in sorted(view.skipped - self._logged):
            _log.warning("Left out of candidates: %s. See 'trueup-manage db fsck'.", row.text)
        self._logged |= view.skipped


def _followed(tx: Transaction, kept: _Kept, own_writes: int) -> _Kept:
    """The view with the changes published up to this snapshot."""
    news = store.changes.news(tx, kept.vector)
    return _kept(refresh(tx, kept.view, news.changed), news.vector, own_writes)


def _loaded(tx: Transaction, own_writes: int, *, stays: bool) -> _Kept:
    """The view of this snapshot.

    PERF: a view is hundreds of thousands of objects. Garbage collection takes a third of the time
    in which they are made. If the view stays as long as the process, they are excluded from it from
    then on (gc.freeze), which saves a fifth of the time of a large answer.
    """
    vector = store.changes.vector(tx)
    is_on = gc.isenabled()
    gc.disable()
    try:
        view = load(tx)
    finally:
        if is_on:
            gc.enable()
    if stays:
        gc.collect()  # otherwise freeze would keep present garbage
        gc.freeze()
    return _kept(view, vector, own_writes)


def _kept(view: View, vector: Vector, own_writes: int) -> _Kept:
    return _Kept(view, vector, store.changes.clock_of(vector), own_writes)
