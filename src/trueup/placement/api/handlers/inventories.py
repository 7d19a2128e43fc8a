# SPDX-License-Identifier: Apache-2.0
"""/resource_providers/{uuid}/inventories and …/inventories/{resource_class}"""

from trueup.model.errors import InventoryNotFound
from trueup.placement import store, transactions
from trueup.placement.api.handlers.existing import provider_comes_first, read_of_provider
from trueup.placement.api.http import NO_CONTENT, Answer, Request, newest, utc_now
from trueup.placement.api.wire import inventories as wire


def get_inventories(request: Request, uuid: str) -> Answer:
    generation, by_class = read_of_provider(request, uuid, store.of_provider.inventories_of)
    found = by_class.values()
    body = wire.render_all(found, generation)
    # PARITY: without inventories there is no Last-Modified.
    times = [inventory.modified_at for inventory in found]
    return request.answer(body, newest(times) if found else None)


def post_inventory(request: Request, uuid: str) -> Answer:
    """POST /resource_providers/{uuid}/inventories"""
    with provider_comes_first(request, uuid):
        given = wire.POST_INVENTORY.parse(request)
        wanted = wire.from_wire(given["resource_class"], given)
        wire.refuse_reserved(uuid, [wanted], request.version)
    generation = transactions.inventories.create(request.database, uuid, wanted)
    location = f"/resource_providers/{uuid}/inventories/{wanted.resource_class}"
    body = wire.render_one(wanted, generation)
    return request.answer(body, utc_now(), status=201, location=location)


def put_inventories(request: Request, uuid: str) -> Answer:
    """PUT /resource_providers/{uuid}/inventories"""
    with provider_comes_first(request, uuid):
        given = wire.PUT_INVENTORIES.parse(request)
    expected = given["resource_provider_generation"]
    wanted = wire.all_from_wire(given["inventories"])
    with provider_comes_first(request, uuid, expected):
        wire.refuse_reserved(uuid, wanted, request.version)
    generation = transactions.inventories.replace_all(request.database, uuid, wanted, expected)
    body = wire.render_all(wanted, generation)
    return request.answer(body, utc_now() if wanted else None)


def delete_inventories(request: Request, uuid: str) -> Answer:
    transactions.inventories.replace_all(request.database, uuid, [])
    return NO_CONTENT


def get_inventory(request: Request, uuid: str, resource_class: str) -> Answer:
    """GET /resource_providers/{uuid}/inventories/{resource_class}"""
    generation, by_class = read_of_provider(request, uuid, store.of_provider.inventories_of)
    found = by_class.get(resource_class)
    if found is None:
        raise InventoryNotFound(resource_class)
    body = wire.render_one(found, generation)
    return request.answer(body, newest([found.modified_at]))


def put_inventory(request: Request, uuid: str, resource_class: str) -> Answer:
    """PUT /resource_providers/{uuid}/inventories/{resource_class}"""
    with provider_comes_first(request, uuid):
        given = wire.PUT_INVENTORY.parse(request)
    expected = given["resource_provider_generation"]
    wanted = wire.from_wire(resource_class, given)
    with provider_comes_first(request, uuid, expected):
        wire.refuse_reserved(uuid, [wanted], request.version)
    generation = transactions.inventories.replace(request.database, uuid, wanted, expected)
    return request.answer(wire.render_one(wanted, generation), utc_now())


def delete_inventory(request: Request, uuid: str, resource_class: str) -> Answer:
    transactions.inventories.delete(request.database, uuid, resource_class)
    return NO_CONTENT
