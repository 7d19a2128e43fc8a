# SPDX-License-Identifier: Apache-2.0
"""/usages and /resource_providers/{uuid}/usages"""

from trueup.placement import store
from trueup.placement.api import policies
from trueup.placement.api.handlers.existing import read_of_provider
from trueup.placement.api.http import Answer, Request, utc_now
from trueup.placement.api.versions import V
from trueup.placement.api.wire import usages as wire


def get_provider_usages(request: Request, uuid: str) -> Answer:
    generation, used = read_of_provider(request, uuid, store.of_provider.usages_of)
    return request.answer(wire.render_of_provider(used, generation), utc_now())


def get_usages(request: Request) -> Answer:
    """GET /usages"""
    asked = dict(request.query())
    # SAFETY: no value of the caller; a rule about users must not compare the caller with itself.
    request.caller.authorize(policies.TOTAL_USAGES, {"project_id": asked.get("project_id")})
    given = wire.LIST_USAGES.check_query(request.query(), request.version)
    project_id, user_id = given["project_id"], given.get("user_id")
    with request.database.reading() as tx:
        if request.version >= V.CONSUMER_TYPES:
            consumer_type = given.get("consumer_type")
            used = store.usages.by_type(tx, project_id, user_id, consumer_type)
            return request.answer(wire.render_by_type(used), utc_now())
        amounts = store.usages.of_project(tx, project_id, user_id)
    return request.answer({"usages": amounts}, utc_now())
