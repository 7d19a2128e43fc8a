# SPDX-License-Identifier: Apache-2.0
"""/allocations, /allocations/{consumer_uuid} and /resource_providers/{uuid}/allocations"""

from trueup.placement import store, transactions
from trueup.placement.api.handlers.existing import read_of_provider
from trueup.placement.api.http import NO_CONTENT, Answer, Request, newest
from trueup.placement.api.wire import allocations as wire


def get_allocations(request: Request, consumer_uuid: str) -> Answer:
    with request.database.reading() as tx:
        consumer, held = store.allocations.of_consumer(tx, consumer_uuid)
    body = wire.render_of_consumer(consumer, held, request.version)
    return request.answer(body, newest([allocation.created_at for allocation in held]))


def get_provider_allocations(request: Request, uuid: str) -> Answer:
    generation, held = read_of_provider(request, uuid, store.of_provider.allocations_of)
    body = wire.render_of_provider(held, generation, request.version)
    return request.answer(body, newest([allocation.created_at for _, _, allocation in held]))


def put_allocations(request: Request, consumer_uuid: str) -> Answer:
    wanted = wire.parse_consumer(request, consumer_uuid)
    transactions.allocations.replace(request.database, [wanted])
    return NO_CONTENT


def post_allocations(request: Request) -> Answer:
    wanted = wire.parse_consumers(request)
    transactions.allocations.replace(request.database, wanted)
    return NO_CONTENT


def delete_allocations(request: Request, consumer_uuid: str) -> Answer:
    transactions.allocations.delete(request.database, consumer_uuid)
    return NO_CONTENT
