# SPDX-License-Identifier: Apache-2.0
"""/resource_classes and /resource_classes/{name}"""

from trueup.model.errors import ResourceClassExists, ResourceClassNotFound
from trueup.placement import store, transactions
from trueup.placement.api.http import NO_CONTENT, Answer, Request, newest, utc_now
from trueup.placement.api.wire import resource_classes as wire


def list_resource_classes(request: Request) -> Answer:
    with request.database.reading() as tx:
        found = store.class_and_trait_names.all_resource_classes(tx)
    body = wire.render_all(found.names, request.root_path)
    return request.answer(body, found.modified_at or utc_now())


def post_resource_class(request: Request) -> Answer:
    name = wire.parse_name(request)
    transactions.resource_classes.create(request.database, name)
    return Answer(status=201, location=f"/resource_classes/{name}")


def get_resource_class(request: Request, name: str) -> Answer:
    with request.database.reading() as tx:
        found = store.class_and_trait_names.resource_class(tx, name)
    if found is None:
        raise ResourceClassNotFound(name)
    return request.answer(wire.render(name, request), newest([found.modified_at]))


def rename_resource_class(request: Request, name: str) -> Answer:
    """PUT /resource_classes/{name}, up to 1.6"""
    new_name = wire.parse_name(request)
    transactions.resource_classes.rename(request.database, name, new_name)
    return request.answer(wire.render(new_name, request))


def put_resource_class(request: Request, name: str) -> Answer:
    """PUT /resource_classes/{name}, from 1.7"""
    wire.refuse_bad_name(name, request)
    location = f"/resource_classes/{name}"
    try:
        transactions.resource_classes.create(request.database, name)
    except ResourceClassExists:
        return Answer(status=204, location=location)
    return Answer(status=201, location=location)


def delete_resource_class(request: Request, name: str) -> Answer:
    transactions.resource_classes.delete(request.database, name)
    return NO_CONTENT
