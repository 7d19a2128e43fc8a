# SPDX-License-Identifier: Apache-2.0
"""/resource_providers and /resource_providers/{uuid}"""

from trueup.model.errors import ProviderNotFound
from trueup.placement import store, transactions
from trueup.placement.api.handlers.existing import provider_comes_first
from trueup.placement.api.http import NO_CONTENT, Answer, Request, newest
from trueup.placement.api.versions import V
from trueup.placement.api.wire import providers as wire


def list_providers(request: Request) -> Answer:
    filters = wire.parse_filters(request)
    with request.database.reading() as tx:
        found = store.filters.list_providers(tx, filters)
    body = wire.render_list(found.providers, request)
    return request.answer(body, newest([found.modified_at]))


def post_provider(request: Request) -> Answer:
    """POST /resource_providers"""
    wanted = wire.parse_new(request)
    provider = transactions.providers.create(request.database, wanted)
    location = f"/resource_providers/{provider.uuid}"
    if request.version < V.PROVIDER_ON_CREATE:
        return Answer(status=201, location=location)
    body = wire.render(provider, request)
    return request.answer(body, newest([provider.modified_at]), location=location)


def get_provider(request: Request, uuid: str) -> Answer:
    with request.database.reading() as tx:
        provider = store.providers.of_uuid(tx, uuid)
    if provider is None:
        raise ProviderNotFound(uuid)
    return request.answer(wire.render(provider, request), newest([provider.modified_at]))


def put_provider(request: Request, uuid: str) -> Answer:
    with provider_comes_first(request, uuid):
        wanted = wire.parse_changed(request, uuid)
    may_reparent = request.version >= V.REPARENTING
    provider = transactions.providers.update(request.database, wanted, may_reparent=may_reparent)
    return request.answer(wire.render(provider, request), newest([provider.modified_at]))


def delete_provider(request: Request, uuid: str) -> Answer:
    transactions.providers.delete(request.database, uuid)
    return NO_CONTENT
