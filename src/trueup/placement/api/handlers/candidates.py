# SPDX-License-Identifier: Apache-2.0
"""/allocation_candidates"""

from trueup.placement.api.http import Answer, Request, utc_now
from trueup.placement.api.wire import candidates as wire
from trueup.placement.api.wire.candidate_answers import render
from trueup.placement.api.wire.summary_cache import SummaryCache
from trueup.placement.index.search.all_trees import GenerationOptions
from trueup.placement.index.search.candidates import find_candidates

_SUMMARIES = SummaryCache()
"""The cache of this process. Revisions are unique within a process, so one is enough."""


def list_candidates(request: Request) -> Answer:
    """GET /allocation_candidates"""
    asked = wire.parse(request.query(), request.version)
    settings = request.settings
    options = GenerationOptions(
        # The configured strategy applies only with a maximum. Without one, hosts take turns.
        breadth_first=settings.breadth_first or settings.candidates_max is None,
        randomize=settings.randomize_candidates,
        candidates_max=settings.candidates_max,
    )
    found = find_candidates(asked, request.index.view(), options)
    request.database.meter.candidates_found(found.count, found.limited_by)
    return request.answer(render(found, asked, request.version, _SUMMARIES), utc_now())
