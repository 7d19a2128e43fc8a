# SPDX-License-Identifier: Apache-2.0
"""/allocation_candidates"""

import logging

from trueup.model.requests import CandidateRequest
from trueup.placement.api.http import Answer, Request, utc_now
from trueup.placement.api.wire import candidates as wire
from trueup.placement.api.wire.candidate_answers import render
from trueup.placement.api.wire.summary_cache import SummaryCache
from trueup.placement.index.emptiness import LastReasons
from trueup.placement.index.filters import text_of
from trueup.placement.index.search.all_trees import GenerationOptions
from trueup.placement.index.search.candidates import find_candidates
from trueup.placement.index.view.columns import View

_log = logging.getLogger(__name__)

_SUMMARIES = SummaryCache()
"""The cache of this process. Revisions are unique within a process, so one is enough."""
_REASONS = LastReasons()
EMPTY_SEARCH = "No candidates (%s): no host is left after %s. Asked: %s"
"""`trueup page --log` reads this line."""


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
    view = request.index.view()
    found = find_candidates(asked, view, options)
    request.database.meter.candidates_found(found.count, found.limited_by)
    if not found.count:
        _report_empty(request, asked, view)
    return request.answer(render(found, asked, request.version, _SUMMARIES), utc_now())


def _report_empty(request: Request, asked: CandidateRequest, view: View) -> None:
    """Say why nothing was found, where somebody wants to know."""
    settings = request.settings
    if settings.metrics is None and not settings.logs_empty_searches:
        return
    why = _REASONS.of(asked, view)
    request.database.meter.candidates_lacking(why.reason)
    if settings.logs_empty_searches:
        _log.info(EMPTY_SEARCH, why.reason, text_of(why.filter), request.query_string)
