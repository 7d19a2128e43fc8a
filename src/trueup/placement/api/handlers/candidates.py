# SPDX-License-Identifier: Apache-2.0
"""/allocation_candidates"""

from trueup.placement.api import policies
from trueup.placement.api.http import Answer, Request, utc_now
from trueup.placement.api.wire import candidates as wire
from trueup.placement.api.wire.candidate_answers import render
from trueup.placement.index.search.all_trees import Order
from trueup.placement.index.search.candidates import find_candidates


def list_candidates(request: Request) -> Answer:
    """GET /allocation_candidates"""
    request.caller.authorize(policies.LIST_CANDIDATES)
    asked = wire.parse(request)
    settings = request.settings
    order = Order(
        # Which hosts an answer leaves out is ours to say, unless the operator bounds it himself.
        breadth_first=settings.breadth_first or settings.candidates_max is None,
        randomize=settings.randomize_candidates,
        candidates_max=settings.candidates_max,
    )
    found = find_candidates(asked, request.index.view(), order)
    return request.answer(render(found, asked, request.version), utc_now())
