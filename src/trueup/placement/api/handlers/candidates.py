# SPDX-License-Identifier: Apache-2.0
"""/allocation_candidates"""

from trueup.placement.api import policies
from trueup.placement.api.http import Answer, Request, utc_now
from trueup.placement.api.wire import candidates as wire
from trueup.placement.index.combine import Order
from trueup.placement.index.search import find_candidates


def list_candidates(request: Request) -> Answer:
    """GET /allocation_candidates"""
    request.caller.authorize(policies.LIST_CANDIDATES)
    asked = wire.parse(request)
    settings = request.settings
    order = Order(
        breadth_first=settings.breadth_first,
        randomize=settings.randomize_candidates,
        candidates_max=settings.candidates_max,
    )
    found = find_candidates(asked, request.index.view(), order)
    return request.answer(wire.render(found, asked, request.version), utc_now())
