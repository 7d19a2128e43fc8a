# SPDX-License-Identifier: Apache-2.0
"""find_candidates: the question and a picture of the ledger in, the answer out."""

import itertools
import random
from collections.abc import Iterator, Sequence

from trueup.model.candidates import Candidates
from trueup.model.requests import CandidateRequest
from trueup.placement.index.columns import View
from trueup.placement.index.combine import Choice, Order, combine
from trueup.placement.index.match import NothingFits, Slot, match_request
from trueup.placement.index.summarize import candidate_of, giving, of_trees, summarize


def find_candidates(request: CandidateRequest, view: View, order: Order) -> Candidates:
    """Ways to satisfy the request, as many as it wants, and the trees they use.

    Raises ResourceClassNotFound or TraitNotFound.
    """
    try:
        slots = match_request(request, view)
    except NothingFits:
        return Candidates()
    choices = combine(request, slots, view, order)
    flattens = not request.nested and view.forest.has_trees
    if flattens:
        choices = _one_of_each_tree(choices, slots, view)
    found = list(itertools.islice(choices, request.limit))
    if order.randomize:
        random.shuffle(found)
    used = {position for choice in found for position in giving(choice, slots)}
    shown = used if flattens else of_trees(used, view)
    return Candidates(
        tuple(candidate_of(choice, slots, view) for choice in found), summarize(shown, view)
    )


def _one_of_each_tree(
    choices: Iterator[Choice], slots: Sequence[Slot], view: View
) -> Iterator[Choice]:
    """For clients that do not know trees: only what takes one provider of each."""
    for choice in choices:
        positions = giving(choice, slots)
        if len({int(view.forest.roots[position]) for position in positions}) == len(positions):
            yield choice
