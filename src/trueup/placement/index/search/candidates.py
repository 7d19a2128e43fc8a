# SPDX-License-Identifier: Apache-2.0
"""find_candidates: the question and a picture of the ledger in, the answer out."""

import itertools
import random
from collections.abc import Sequence

from trueup.model.candidates import Candidates
from trueup.model.requests import CandidateRequest
from trueup.placement.index.search.all_trees import Order, combine, lone
from trueup.placement.index.search.constraints import rules_of
from trueup.placement.index.search.match import NothingFits, Slot, match_request
from trueup.placement.index.search.partial import Choice, lay_table
from trueup.placement.index.search.prune import narrow
from trueup.placement.index.search.summaries import summarize, used_by
from trueup.placement.index.view.columns import NO_PROVIDERS, View

ALLOCATIONS_MAX = 500_000
"""How many allocations the candidates of one answer have at most, all together.

A bound on what an absurd question costs, far above what anybody can use: about 60 MB of JSON.
"""


def find_candidates(request: CandidateRequest, view: View, order: Order) -> Candidates:
    """Ways to satisfy the request, as many as it wants, and the trees they use.

    Raises ResourceClassNotFound or TraitNotFound.
    """
    try:
        slots, choices = _choices(request, match_request(request, view), view, order)
    except NothingFits:
        return Candidates(summarize(NO_PROVIDERS, view))
    if order.randomize:
        random.shuffle(choices)
    flattens = view.forest.has_trees and not request.nested
    return Candidates(
        summarized=summarize(used_by(choices, slots), view, whole_trees=not flattens),
        parts=tuple((slot.suffix, slot.resources) for slot in slots),
        choices=choices,
        uuids=view.forest.uuids,
    )


def _choices(
    request: CandidateRequest, slots: Sequence[Slot], view: View, order: Order
) -> tuple[Sequence[Slot], list[Choice]]:
    """As many as are wanted, and the slots in their order."""
    most = _most(request, order, slots)
    if len(slots) == 1:
        return slots, [(position,) for position in lone(slots[0], view, order)[:most].tolist()]
    trees = narrow(slots, rules_of(request, slots, view.forest.has_trees), view)
    table = lay_table(request, trees, view)
    return table.trees.slots, list(itertools.islice(combine(table, view, order), most))


def _most(request: CandidateRequest, order: Order, slots: Sequence[Slot]) -> int:
    """How many candidates are made at most."""
    size = sum(max(1, len(slot.resources)) for slot in slots)
    wanted = (request.limit, order.candidates_max, ALLOCATIONS_MAX // size)
    return min(most for most in wanted if most is not None)
