# SPDX-License-Identifier: Apache-2.0
"""/allocation_candidates"""

from trueup.placement.api import policies
from trueup.placement.api.http import Answer, Request, utc_now


def list_candidates(request: Request) -> Answer:
    """GET /allocation_candidates"""
    request.authorize(policies.LIST_CANDIDATES)
    return request.answer({"allocation_requests": [], "provider_summaries": {}}, utc_now())
