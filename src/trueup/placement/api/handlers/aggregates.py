# SPDX-License-Identifier: Apache-2.0
"""/resource_providers/{uuid}/aggregates"""

from trueup.placement import store, transactions
from trueup.placement.api.handlers.existing import provider_comes_first, read_of_provider
from trueup.placement.api.http import Answer, Request, utc_now
from trueup.placement.api.wire import aggregates as wire


def get_aggregates(request: Request, uuid: str) -> Answer:
    generation, found = read_of_provider(request, uuid, store.of_provider.aggregates_of)
    return request.answer(wire.render(found, generation, request.version), utc_now())


def put_aggregates(request: Request, uuid: str) -> Answer:
    with provider_comes_first(request, uuid):
        wanted, expected = wire.parse(request)
    generation = transactions.aggregates.replace(request.database, uuid, wanted, expected)
    return request.answer(wire.render(wanted, generation, request.version), utc_now())
