# SPDX-License-Identifier: Apache-2.0
"""/traits, /traits/{name} and /resource_providers/{uuid}/traits"""

from collections.abc import Iterable

from trueup.model.errors import TraitNotFound
from trueup.placement import store, transactions
from trueup.placement.api.handlers.existing import read_of_provider
from trueup.placement.api.http import NO_CONTENT, Answer, Request, newest, utc_now
from trueup.placement.api.wire import traits as wire
from trueup.placement.store.rows.class_and_trait_names import NamedRow


def list_traits(request: Request) -> Answer:
    filters = wire.parse_filters(request)
    with request.database.reading() as tx:
        found = store.class_and_trait_names.list_traits(tx, **filters)
    return request.answer({"traits": found.names}, found.modified_at or utc_now())


def get_trait(request: Request, name: str) -> Answer:
    with request.database.reading() as tx:
        found = store.class_and_trait_names.trait(tx, name)
    if found is None:
        raise TraitNotFound(name)
    return request.answer(None, found.modified_at or utc_now(), status=204)


def put_trait(request: Request, name: str) -> Answer:
    wire.refuse_bad_name(name)
    is_new, modified_at = transactions.traits.create(request.database, name)
    status = 201 if is_new else 204
    return request.answer(None, modified_at or utc_now(), status=status, location=f"/traits/{name}")


def delete_trait(request: Request, name: str) -> Answer:
    transactions.traits.delete(request.database, name)
    return NO_CONTENT


def get_provider_traits(request: Request, uuid: str) -> Answer:
    generation, found = read_of_provider(request, uuid, store.of_provider.traits_of)
    return _answer(request, found, generation)


def put_provider_traits(request: Request, uuid: str) -> Answer:
    names, expected = wire.parse_of_provider(request)
    generation, found = transactions.traits.replace(request.database, uuid, names, expected)
    return _answer(request, found, generation)


def delete_provider_traits(request: Request, uuid: str) -> Answer:
    transactions.traits.replace(request.database, uuid, [])
    return NO_CONTENT


def _answer(request: Request, found: Iterable[NamedRow], generation: int) -> Answer:
    words = list(found)
    body = {
        "traits": [word.name for word in words],
        "resource_provider_generation": generation,
    }
    return request.answer(body, newest([word.modified_at for word in words]))
