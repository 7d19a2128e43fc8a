# SPDX-License-Identifier: Apache-2.0
"""Why a search found no candidates, in one of a few words: for metrics and the log.

PERF: the search is asked again with the first half of the filters, then with more or less of them,
and so on. Nova asks the same again and again, so the last reasons are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock

import numpy as np

from trueup.model.errors import ResourceClassNotFound, TraitNotFound
from trueup.model.requests import CandidateRequest
from trueup.placement.index import filters
from trueup.placement.index.search.candidates import roots_with_candidates
from trueup.placement.index.view.columns import View

_KEPT_MAX = 256


class EmptyReason(StrEnum):
    """The kind of the filter that leaves out the last hosts."""

    CLASS = "class"
    CAPACITY = "capacity"
    SHARING = "sharing"
    TRAIT = "trait"
    AGGREGATE = "aggregate"
    TREE = "tree"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Emptiness:
    """The first filter, in the order of the query, after which no host is left."""

    reason: EmptyReason
    filter: filters.Filter


def emptiness(request: CandidateRequest, view: View) -> Emptiness:
    """Why there are no candidates for a request."""
    every = filters.filters_of(request)
    # No host passes the first `none` filters, and some pass the first `some`.
    some, none = 0, len(every)
    while none - some > 1:
        middle = (some + none) // 2
        if _leaves_any(every[:middle], request, view):
            some = middle
        else:
            none = middle
    decisive = every[none - 1]
    return Emptiness(_reason(decisive, view), decisive)


def _leaves_any(kept: Sequence[filters.Filter], request: CandidateRequest, view: View) -> bool:
    part = filters.request_of(kept, request)
    if part is None:
        return True
    try:
        return bool(len(roots_with_candidates(part, view)))
    except (ResourceClassNotFound, TraitNotFound):
        # The search does not look at the names of groups after one that nobody satisfies.
        return False


def _reason(decisive: filters.Filter, view: View) -> EmptyReason:
    match decisive:
        case filters.Resource():
            inventory = view.inventories.get(decisive.name)
            if inventory is None or not len(inventory.positions):
                return EmptyReason.CLASS
            shared = bool(np.isin(inventory.positions, view.sharing).all())
            return EmptyReason.SHARING if shared else EmptyReason.CAPACITY
        case filters.MemberOf() | filters.NotMemberOf():
            return EmptyReason.AGGREGATE
        case filters.InTree():
            return EmptyReason.TREE
        case filters.Isolate() | filters.SameSubtree():
            return EmptyReason.GROUP
        case _:
            return EmptyReason.TRAIT


class LastReasons:
    """The reasons of the last requests about one view. Safe for several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._view: View | None = None
        self._kept: dict[CandidateRequest, Emptiness] = {}

    def of(self, request: CandidateRequest, view: View) -> Emptiness:
        """Why there are no candidates for a request."""
        with self._lock:
            if self._view is not view or len(self._kept) >= _KEPT_MAX:
                self._view, self._kept = view, {}
            found = self._kept.get(request)
        if found is None:
            found = emptiness(request, view)
            with self._lock:
                if self._view is view:
                    self._kept[request] = found
        return found
