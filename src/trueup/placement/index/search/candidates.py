# SPDX-License-Identifier: Apache-2.0
"""Finds the candidates for a request in a view of the ledger."""

from collections.abc import Sequence
from functools import partial
from operator import itemgetter

import numpy as np

from trueup.model.candidates import Candidates, Limit
from trueup.model.requests import CandidateRequest
from trueup.placement.index.search.alike import columns_of
from trueup.placement.index.search.all_trees import (
    GenerationOptions,
    candidates_of_all_trees,
    single_slot,
    trees_with_candidates,
)
from trueup.placement.index.search.checks import Columns
from trueup.placement.index.search.constraints import constrain
from trueup.placement.index.search.match import NoCandidates, Slot, match_request
from trueup.placement.index.search.partial_candidate import prepare
from trueup.placement.index.search.prune import prune
from trueup.placement.index.search.summaries import providers_used, summaries_of
from trueup.placement.index.view.columns import NO_PROVIDERS, View
from trueup.placement.index.view.forest import Positions

ALLOCATIONS_MAX = 500_000
"""The most allocations in the candidates of one answer together.

It bounds the cost of requests whose whole answer would be useless: about 60 MB of JSON.
"""


def find_candidates(
    request: CandidateRequest, view: View, options: GenerationOptions
) -> Candidates:
    """Candidates for the request, up to its limit, and the providers of their trees.

    Raises ResourceClassNotFound or TraitNotFound.
    """
    try:
        matched = match_request(request, view)
        limit, most = _limit(request, options, matched)
        slots, found = _find(request, matched, view, options, most)
    except NoCandidates:
        return Candidates(summaries=summaries_of(NO_PROVIDERS, view))
    count = len(found[0])
    if options.randomize:
        order = np.random.default_rng().permutation(count)
        found = tuple(column[order] for column in found)
    one_per_tree = view.forest.has_trees and not request.nested
    used = providers_used(found, slots, view)
    return Candidates(
        request_slots=tuple((slot.suffix, slot.resources) for slot in slots),
        count=count,
        columns=partial(columns_of, found, view),
        limited_by=limit if count >= most else None,
        summaries=summaries_of(used, view, whole_trees=not one_per_tree),
    )


def roots_with_candidates(request: CandidateRequest, view: View) -> Positions:
    """The roots of all trees that have any candidate for the request, sorted.

    Raises ResourceClassNotFound or TraitNotFound.
    """
    try:
        slots: Sequence[Slot] = match_request(request, view)
        if len(slots) == 1:
            return np.unique(slots[0].offers.anchors)
        slots, constraints = constrain(slots, request, view.forest.has_trees)
        problem = prepare(prune(slots, constraints, view), constraints, view.forest)
    except NoCandidates:
        return NO_PROVIDERS
    return trees_with_candidates(problem)


def _find(
    request: CandidateRequest,
    slots: Sequence[Slot],
    view: View,
    options: GenerationOptions,
    most: int,
) -> tuple[Sequence[Slot], Columns]:
    """The slots in the order of the columns, and the candidates. Raises NoCandidates."""
    if len(slots) == 1:
        return slots, (single_slot(slots[0], view, options)[:most],)
    slots, constraints = constrain(slots, request, view.forest.has_trees)
    problem = prepare(prune(slots, constraints, view), constraints, view.forest)
    return slots, candidates_of_all_trees(problem, view, options, most)


def _limit(
    request: CandidateRequest, options: GenerationOptions, slots: Sequence[Slot]
) -> tuple[Limit, int]:
    """The least of all limits, with its kind."""
    allocations = sum(max(1, len(slot.resources)) for slot in slots)
    limits = {
        Limit.REQUESTED: request.limit,
        Limit.CONFIGURED: options.candidates_max,
        Limit.ANSWER_SIZE: ALLOCATIONS_MAX // allocations,
    }
    return min(
        ((limit, most) for limit, most in limits.items() if most is not None),
        key=itemgetter(1),
    )
