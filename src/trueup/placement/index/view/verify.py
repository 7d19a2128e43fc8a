# SPDX-License-Identifier: Apache-2.0
"""Does following the ledger give what loading it gives? For operators who want to see it."""

import time
from collections.abc import Callable
from typing import NamedTuple

from trueup.placement import store
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.differences import Difference, differences
from trueup.placement.index.view.foreign_writes import compared
from trueup.placement.index.view.load import load
from trueup.placement.index.view.refresh import follow
from trueup.placement.store.changes import Vector
from trueup.placement.store.database import Database, Transaction

_PAUSE_SECONDS = 0.5


class Verdict(NamedTuple):
    """What a view that followed has, and one that was made from nothing has not, or otherwise."""

    wrong: list[Difference]
    """This stays, and is a fault of ours."""
    late: list[Difference]
    """This was written past us, and is found by comparing."""


class _Followed(NamedTuple):
    view: View
    vector: Vector


def verify(
    database: Database, seconds: float, pause: Callable[[float], None] = time.sleep
) -> Verdict:
    """Follow whatever is written for so long, then hold the view against a fresh one.

    Both are of one snapshot, so it does not matter who writes meanwhile. Writes nothing, but adds
    the tables of ours that are missing.
    """
    database.add_own_tables()
    followed = None
    steps = max(1, round(seconds / _PAUSE_SECONDS))
    for _ in range(steps):
        with database.reading(snapshot=True) as tx:
            followed = _go_on(tx, followed)
        pause(min(_PAUSE_SECONDS, seconds))
    with database.reading(snapshot=True) as tx:
        view = _go_on(tx, followed).view
        loaded = load(tx)
        found = differences(view, loaded)
        wrong = differences(compared(tx, view, {})[0], loaded) if found else []
    return Verdict(wrong, [one for one in found if one not in wrong])


def _go_on(tx: Transaction, followed: _Followed | None) -> _Followed:
    vector = store.changes.vector(tx)
    if followed is None:
        return _Followed(load(tx), vector)
    changed = store.changes.since(tx, followed.vector, vector)
    return _Followed(follow(tx, followed.view, changed), vector)
