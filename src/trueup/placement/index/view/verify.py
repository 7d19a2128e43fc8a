# SPDX-License-Identifier: Apache-2.0
"""Checks that a view which was refreshed for a while equals a freshly loaded one."""

import time
from collections.abc import Callable
from typing import NamedTuple

from trueup.placement import store
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.differences import Difference, differences
from trueup.placement.index.view.foreign_writes import NEVER, compare
from trueup.placement.index.view.refresh import load, refresh
from trueup.placement.store.engine.changes import Vector
from trueup.placement.store.engine.database import Database, Transaction

_PAUSE_SECONDS = 0.5


class Verification(NamedTuple):
    """How the refreshed view differs from the loaded one."""

    wrong: list[Difference]
    """Differences that stay: defects of Trueup."""
    late: list[Difference]
    """Differences that the search for foreign writes removes: another service wrote them."""


class _Refreshed(NamedTuple):
    view: View
    vector: Vector
    """The changes that the view includes."""


def verify(
    database: Database, seconds: float, pause: Callable[[float], None] = time.sleep
) -> Verification:
    """Refresh a view for so many seconds, and compare it with a loaded one.

    Both are of the same database snapshot, so writes meanwhile do not matter. Creates Trueup's own
    tables where they are missing, and writes nothing else.
    """
    database.add_own_tables()
    refreshed = None
    steps = max(1, round(seconds / _PAUSE_SECONDS))
    for _ in range(steps):
        with database.reading(snapshot=True) as tx:
            refreshed = _refresh(tx, refreshed)
        pause(min(_PAUSE_SECONDS, seconds))
    with database.reading(snapshot=True) as tx:
        view = _refresh(tx, refreshed).view
        loaded = load(tx)
        found = differences(view, loaded)
        wrong = differences(compare(tx, view, {}, NEVER).view, loaded) if found else []
    return Verification(wrong, [difference for difference in found if difference not in wrong])


def _refresh(tx: Transaction, refreshed: _Refreshed | None) -> _Refreshed:
    if refreshed is None:
        return _Refreshed(load(tx), store.changes.vector(tx))
    news = store.changes.news(tx, refreshed.vector)
    return _Refreshed(refresh(tx, refreshed.view, news.changed), news.vector)
