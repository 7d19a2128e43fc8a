# SPDX-License-Identifier: Apache-2.0
"""Turns an error of the model into status, code and text, and into the error document.

All texts of refusals are here. A text is a format string over the fields of the error, the
arguments of the route, and `{said}`, the error's text on every route.
"""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from trueup.model import errors as model
from trueup.placement.api.versions import NEWEST, OLDEST, V
from trueup.placement.store.engine.errors import Meaning

UNDEFINED_CODE = "placement.undefined_code"
CONCURRENT_UPDATE = "placement.concurrent_update"
DUPLICATE_NAME = "placement.duplicate_name"
DUPLICATE_KEY = "placement.query.duplicate_key"
BAD_VALUE = "placement.query.bad_value"
MISSING_VALUE = "placement.query.missing_value"
INVENTORY_IN_USE = "placement.inventory.inuse"
PROVIDER_IN_USE = "placement.resource_provider.inuse"
CANNOT_DELETE_PARENT = "placement.resource_provider.cannot_delete_parent"
PROVIDER_NOT_FOUND = "placement.resource_provider.not_found"


_RETRY_AFTER_SECONDS = 5

_UNAVAILABLE = {
    Meaning.CONFLICT: "Other transactions of the database interfered.",
    Meaning.LOCKED: "Another session of the database holds a lock that the request needs.",
    Meaning.AWAY: "The database does not answer.",
    Meaning.READ_ONLY: "The database accepts no writes now.",
    Meaning.EXHAUSTED: "The database has no disk space or memory left.",
    Meaning.STOPPED: "The database was told to stop the request.",
}


class Refused(Exception):
    """The error answer to a request."""

    def __init__(
        self,
        status: int,
        detail: str = "",
        code: str = UNDEFINED_CODE,
        headers: Mapping[str, str] | None = None,
    ):
        super().__init__(detail)
        self.status, self.detail, self.code = status, detail, code
        self.headers = dict(headers or {})


def bad_request(detail: str, code: str = UNDEFINED_CODE) -> Refused:
    """The error for a malformed request."""
    return Refused(400, detail, code)


def unavailable(meaning: Meaning) -> Refused:
    """The error for a request that may succeed once the database works again."""
    headers = {"retry-after": str(_RETRY_AFTER_SECONDS)}
    return Refused(503, _UNAVAILABLE[meaning], headers=headers)


# The text of an error on every route.
_SAID: dict[type[model.PlacementError], str] = {
    model.ProviderNotFound: "No resource provider with uuid {uuid} found",
    model.ReshapeOfUnknownProvider: "No resource provider with uuid {uuid} found",
    model.AllocationToUnknownProvider: (
        "Allocation for resource provider '{uuid}' that does not exist."
    ),
    model.ResourceClassNotFound: "No such resource class {name}.",
    model.TraitNotFound: "No such trait(s): {name}.",
    model.TraitsNotFound: "No such trait {names}",
    model.InventoryNotFound: "No inventory of class {resource_class} found.",
    model.NothingAllocated: "No allocations for consumer '{consumer}'",
    model.StaleProvider: "resource provider generation conflict",
    model.StaleConsumer: "consumer generation conflict - expected {actual} but got {given}",
    model.ConcurrentUpdate: (
        "Another thread concurrently updated the data. Please retry your update"
    ),
    model.ProviderExists: "Conflicting resource provider {field}: {value} already exists.",
    model.InventoryExists: (
        "Inventory of class {resource_class} on resource provider {provider} already exists."
    ),
    model.ResourceClassExists: "Conflicting resource class already exists: {name}",
    model.ProviderHasAllocations: (
        "Unable to delete resource provider {uuid}: Resource provider has allocations."
    ),
    model.ProviderHasChildren: (
        "Unable to delete parent resource provider {uuid}: It has child resource providers."
    ),
    model.InventoryInUse: (
        "Inventory for '{resource_classes}' on resource provider '{provider}' in use."
    ),
    model.ResourceClassInUse: (
        "Error in delete resource class: "
        "Cannot delete resource class {name}. Class is in use in inventory."
    ),
    model.TraitInUse: "The trait {name} is in use by a resource provider.",
    model.StandardResourceClass: (
        "Error in delete resource class: Cannot delete standard resource class {name}."
    ),
    model.StandardTrait: "Cannot delete standard trait {name}.",
    model.BadProvider: "Object action {action} failed because: {reason}",
    model.BadCapacity: (
        "Invalid inventory for '{resource_class}' on resource provider '{provider}'. "
        "The reserved value is greater than {or_equal_to}total."
    ),
    model.NotAllocatable: (
        "Inventory for '{resource_class}' on resource provider '{provider}' invalid."
    ),
    model.CapacityExceeded: (
        "Unable to create allocation for '{resource_class}' on resource provider '{provider}'. "
        "The requested amount would exceed the capacity."
    ),
    model.ConstraintsViolated: (
        "Unable to create allocation for '{resource_class}' on resource provider '{provider}'. "
        "The requested amount would violate inventory constraints."
    ),
}


@dataclass(frozen=True, slots=True)
class _Rule:
    status: int
    text: str = "{said}"
    code: str = UNDEFINED_CODE


_RULES: dict[type[model.PlacementError], _Rule] = {
    model.ProviderNotFound: _Rule(404),
    model.ReshapeOfUnknownProvider: _Rule(
        400, "Resource provider {uuid} in inventories not found: {said}", PROVIDER_NOT_FOUND
    ),
    model.AllocationToUnknownProvider: _Rule(400),
    model.ResourceClassNotFound: _Rule(404),
    model.TraitNotFound: _Rule(404),
    model.TraitsNotFound: _Rule(400),
    model.InventoryNotFound: _Rule(404),
    model.NothingAllocated: _Rule(404),
    model.StaleProvider: _Rule(409, code=CONCURRENT_UPDATE),
    model.StaleConsumer: _Rule(409, code=CONCURRENT_UPDATE),
    model.ConcurrentUpdate: _Rule(409, "update conflict: {said}", CONCURRENT_UPDATE),
    model.ProviderExists: _Rule(409, code=DUPLICATE_NAME),
    model.InventoryExists: _Rule(409, "Update conflict: {said}", CONCURRENT_UPDATE),
    model.ResourceClassExists: _Rule(409),
    model.ProviderHasAllocations: _Rule(409, code=PROVIDER_IN_USE),
    model.ProviderHasChildren: _Rule(409, code=CANNOT_DELETE_PARENT),
    model.InventoryInUse: _Rule(409, "update conflict: {said}", INVENTORY_IN_USE),
    model.ResourceClassInUse: _Rule(409),
    model.TraitInUse: _Rule(409),
    model.StandardResourceClass: _Rule(400),
    model.StandardTrait: _Rule(400),
    model.BadProvider: _Rule(400, "Unable to save resource provider {uuid}: {said}"),
    model.BadCapacity: _Rule(
        400, "Unable to update inventory for resource provider {uuid}: {said}"
    ),
    model.NotAllocatable: _Rule(409, "Unable to allocate inventory: {said}"),
}

_CHANGED_ALREADY = _Rule(
    409,
    "Resource provider's generation already changed. Please update the generation and try again.",
    CONCURRENT_UPDATE,
)
_CANNOT_CREATE_INVENTORY = _Rule(
    400, "Unable to create inventory for resource provider {uuid}: {said}"
)
_UNKNOWN_FILTER_CLASS = _Rule(400, "Invalid resource class in resources parameter: {said}")
_PROVIDER_FOR_INVENTORIES = _Rule(404, "No resource provider with uuid {uuid} found : {said}")
_PROVIDER_OF = _Rule(404, "No resource provider with uuid {uuid} found: {said}")
_ALLOCATIONS_CHANGED = _Rule(
    409,
    "Inventory and/or allocations changed while attempting to allocate: {said}",
    CONCURRENT_UPDATE,
)

# Some handlers have other texts for an error.
_RULES_IN: dict[tuple[str, type[model.PlacementError]], _Rule] = {
    ("post_provider", model.BadProvider): _Rule(
        400, 'Unable to create resource provider "{name}", {uuid}: {said}'
    ),
    ("put_provider", model.ProviderExists): _Rule(
        409, "Conflicting resource provider {value} already exists.", DUPLICATE_NAME
    ),
    ("delete_provider", model.ProviderNotFound): _Rule(404, "{said} for delete"),
    ("list_providers", model.ResourceClassNotFound): _UNKNOWN_FILTER_CLASS,
    ("list_providers", model.TraitNotFound): _Rule(
        400, 'Invalid trait(s) in "required" parameter: {said}'
    ),
    ("get_inventories", model.ProviderNotFound): _PROVIDER_FOR_INVENTORIES,
    ("get_inventory", model.ProviderNotFound): _PROVIDER_FOR_INVENTORIES,
    ("get_inventory", model.InventoryNotFound): _Rule(
        404, "No inventory of class {resource_class} for {uuid}"
    ),
    ("post_inventory", model.ResourceClassNotFound): _CANNOT_CREATE_INVENTORY,
    ("post_inventory", model.BadCapacity): _CANNOT_CREATE_INVENTORY,
    ("put_inventories", model.ResourceClassNotFound): _Rule(
        400, "Unknown resource class in inventory for resource provider {uuid}: {said}"
    ),
    ("put_inventory", model.InventoryNotFound): _Rule(
        400, "No inventory record with resource class for resource provider {uuid}: {said}"
    ),
    ("delete_inventories", model.InventoryInUse): _Rule(409, code=INVENTORY_IN_USE),
    ("delete_inventories", model.ConcurrentUpdate): _Rule(
        409,
        "Unable to delete inventory for resource provider {uuid} because the inventory was "
        "updated by another process. Please retry your request.",
        CONCURRENT_UPDATE,
    ),
    ("delete_inventory", model.InventoryInUse): _Rule(
        409, "Unable to delete inventory of class {resource_class}: {said}", CONCURRENT_UPDATE
    ),
    ("delete_inventory", model.InventoryNotFound): _Rule(
        404,
        "No inventory of class {resource_class} found for delete: "
        "No inventory of class {resource_class} found for delete",
    ),
    ("delete_inventory", model.ResourceClassNotFound): _Rule(
        404, "No inventory of class {name} found for delete: {said}"
    ),
    ("put_provider_traits", model.StaleProvider): _CHANGED_ALREADY,
    ("put_aggregates", model.StaleProvider): _CHANGED_ALREADY,
    ("get_provider_traits", model.ProviderNotFound): _PROVIDER_OF,
    ("get_provider_usages", model.ProviderNotFound): _PROVIDER_OF,
    ("get_provider_allocations", model.ProviderNotFound): _Rule(
        404, "Resource provider '{uuid}' not found: {said}"
    ),
    ("put_allocations", model.ResourceClassNotFound): _Rule(
        400, "Unable to allocate inventory for consumer {consumer_uuid}: {said}"
    ),
    ("post_allocations", model.ResourceClassNotFound): _Rule(
        400, "Unable to allocate inventory {said}"
    ),
    ("put_allocations", model.ConcurrentUpdate): _ALLOCATIONS_CHANGED,
    ("post_allocations", model.ConcurrentUpdate): _ALLOCATIONS_CHANGED,
    ("list_candidates", model.ResourceClassNotFound): _UNKNOWN_FILTER_CLASS,
    ("list_candidates", model.TraitNotFound): _Rule(400),
    ("post_reshape", model.ResourceClassNotFound): _Rule(400, "malformed reshaper data: {said}"),
    ("post_reshape", model.StaleProvider): _Rule(
        409,
        "resource provider generation conflict for provider {uuid}: "
        "actual: {actual}, given: {given}",
        CONCURRENT_UPDATE,
    ),
    ("rename_resource_class", model.ResourceClassExists): _Rule(
        409, "Resource class already exists: {name}"
    ),
    ("rename_resource_class", model.StandardResourceClass): _Rule(
        400, "Cannot update standard resource class {name}"
    ),
}


def refusal_of(error: model.PlacementError, handler: str, arguments: Mapping[str, str]) -> Refused:
    """The answer to this error in this handler."""
    values = {**arguments, **_fields_of(error)}
    kinds = [kind for kind in type(error).__mro__ if issubclass(kind, model.PlacementError)]
    values["said"] = next(_SAID[kind] for kind in kinds if kind in _SAID).format(**values)
    special = (_RULES_IN[handler, kind] for kind in kinds if (handler, kind) in _RULES_IN)
    general = (_RULES[kind] for kind in kinds if kind in _RULES)
    rule = next(special, None) or next(general)
    return Refused(rule.status, rule.text.format(**values), rule.code)


def _fields_of(error: model.PlacementError) -> dict[str, Any]:
    assert is_dataclass(error), "every error of the model is one"
    values = {part.name: getattr(error, part.name) for part in fields(error)}
    for name, value in values.items():
        if isinstance(value, tuple):
            values[name] = ", ".join(value)
    if isinstance(error, model.StaleConsumer) and error.actual is None:
        values["actual"] = "null"
    if isinstance(error, model.BadCapacity):
        values["or_equal_to"] = "" if error.may_reserve_all else "or equal to "
    return values


_TITLES = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    409: "Conflict",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    500: "Internal Server Error",
    503: "Service Unavailable",
}

_EXPLANATIONS = {
    400: (
        "The server could not comply with the request since it is either malformed or "
        "otherwise incorrect."
    ),
    401: (
        "This server could not verify that you are authorized to access the document you "
        "requested. Either you supplied the wrong credentials (e.g., bad password), or your "
        "browser does not understand how to supply the credentials required."
    ),
    403: "Access was denied to this resource.",
    404: "The resource could not be found.",
    405: "The method {method} is not allowed for this resource. ",
    406: (
        "The resource could not be generated that was acceptable to your browser "
        "(content of type {accept}. "
    ),
    409: "There was a conflict when trying to complete your request.",
    413: "The body of the request is longer than the server accepts.",
    415: "The request media type {content_type} is not supported by this server. ",
    500: ("The server has either erred or is incapable of performing the requested operation."),
    503: "The server is currently unavailable. Please try again at a later time.",
}

_TAG = re.compile(r"<.*?>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ErrorContext:
    """The values of a request that its error document repeats."""

    method: str
    accept: str
    content_type: str
    request_id: str
    version: V | None
    """None until the microversion is known."""


def document(refused: Refused, context: ErrorContext) -> dict[str, Any]:
    """The JSON document for an error."""
    error: dict[str, Any] = {
        "status": refused.status,
        "title": _TITLES[refused.status],
        # PARITY: clients and upstream's own tests match these texts.
        "detail": f"{_explanation(refused, context)}\n\n {_detail(refused)}",
    }
    if context.version is not None and context.version >= V.ERROR_CODES:
        error["code"] = refused.code
    error["request_id"] = context.request_id
    if refused.status == 406 and context.version is None:
        error |= {"max_version": str(NEWEST), "min_version": str(OLDEST)}
    return {"errors": [error]}


def plain_text(refused: Refused, context: ErrorContext) -> str:
    """The error as text, for a client that accepts neither JSON nor HTML."""
    title = f"{refused.status} {_TITLES[refused.status]}"
    return f"{title}\n\n{_explanation(refused, context)}\n\n {_detail(refused)}"


def page(refused: Refused, context: ErrorContext) -> str:
    """The error as a page, for a browser."""
    title = f"{refused.status} {_TITLES[refused.status]}"
    explanation = html.escape(_explanation(refused, context))
    return (
        f"<html>\n <head>\n  <title>{title}</title>\n </head>\n <body>\n  <h1>{title}</h1>\n"
        f"  {explanation}<br /><br />\n{html.escape(refused.detail)}\n </body>\n</html>"
    )


def _explanation(refused: Refused, context: ErrorContext) -> str:
    return _EXPLANATIONS[refused.status].format(
        method=context.method, accept=context.accept, content_type=context.content_type
    )


def _detail(refused: Refused) -> str:
    detail = _TAG.sub("", refused.detail.replace("\n", " ").replace("\r", ""))
    return detail if refused.status in {405, 406, 415} else f"{detail}  "
