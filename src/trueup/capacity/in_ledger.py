# SPDX-License-Identifier: Apache-2.0
"""How many servers fit in a ledger alone: Nova is not asked, and so leaves out no host."""

from collections import Counter

import numpy as np

from trueup.capacity import words
from trueup.capacity.counting import Bind, Binding, first_bindings
from trueup.capacity.places import weights
from trueup.capacity.room import Fitting, Room
from trueup.model.requests import CandidateRequest
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.forest import NO_PARENT
from trueup.placement.page.views import Fits


def fits(request: CandidateRequest, view: View) -> Fits:
    """How many servers fit that make this request, filled into the emptiest tree first.

    Raises ResourceClassNotFound or TraitNotFound where the search does.
    """
    roots = np.setdiff1d(np.flatnonzero(view.forest.parents == NO_PARENT), view.sharing).tolist()
    # Equal ones in the order of the ledger.
    ranked = sorted(zip(weights(roots, view), roots, strict=True), key=lambda row: -row[0])
    found = _filled(request, view, [root for _, root in ranked])
    binds = Counter[Binding](
        (Bind.CLASS, fitting.ends_by) for fitting in found.values() if fitting.ends_by
    )
    first = [root for root, fitting in found.items() if not fitting.ends_by]
    binds.update(first_bindings(request, view, first).values())
    counts = [fitting.count for fitting in found.values()]
    return Fits(
        count=sum(counts),
        hosts=sum(map(bool, counts)),
        largest=max(counts, default=0),
        binds=tuple(words.bindings(binds).splitlines()),
    )


def _filled(request: CandidateRequest, view: View, roots: list[int]) -> dict[int, Fitting]:
    room, nowhere = Room(view), Fitting(0, "")
    search = room.search(request)
    if search is None:
        return dict.fromkeys(roots, nowhere)
    at_once = room.counts(search)
    if at_once is not None:
        return {root: at_once.get(root, nowhere) for root in roots}
    return {root: room.count(search, root) for root in roots}
