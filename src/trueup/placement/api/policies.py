# SPDX-License-Identifier: Apache-2.0
"""The policy rules, as data: upstream's names, defaults and scopes."""

from typing import NamedTuple

LIST_PROVIDERS = "placement:resource_providers:list"
CREATE_PROVIDER = "placement:resource_providers:create"
SHOW_PROVIDER = "placement:resource_providers:show"
UPDATE_PROVIDER = "placement:resource_providers:update"
DELETE_PROVIDER = "placement:resource_providers:delete"
LIST_CLASSES = "placement:resource_classes:list"
CREATE_CLASS = "placement:resource_classes:create"
SHOW_CLASS = "placement:resource_classes:show"
UPDATE_CLASS = "placement:resource_classes:update"
DELETE_CLASS = "placement:resource_classes:delete"
LIST_INVENTORIES = "placement:resource_providers:inventories:list"
CREATE_INVENTORY = "placement:resource_providers:inventories:create"
SHOW_INVENTORY = "placement:resource_providers:inventories:show"
UPDATE_INVENTORY = "placement:resource_providers:inventories:update"
DELETE_INVENTORY = "placement:resource_providers:inventories:delete"
LIST_AGGREGATES = "placement:resource_providers:aggregates:list"
UPDATE_AGGREGATES = "placement:resource_providers:aggregates:update"
PROVIDER_USAGES = "placement:resource_providers:usages"
TOTAL_USAGES = "placement:usages"
LIST_TRAITS = "placement:traits:list"
SHOW_TRAIT = "placement:traits:show"
UPDATE_TRAIT = "placement:traits:update"
DELETE_TRAIT = "placement:traits:delete"
LIST_PROVIDER_TRAITS = "placement:resource_providers:traits:list"
UPDATE_PROVIDER_TRAITS = "placement:resource_providers:traits:update"
DELETE_PROVIDER_TRAITS = "placement:resource_providers:traits:delete"
MANAGE_ALLOCATIONS = "placement:allocations:manage"
LIST_ALLOCATIONS = "placement:allocations:list"
UPDATE_ALLOCATIONS = "placement:allocations:update"
DELETE_ALLOCATIONS = "placement:allocations:delete"
LIST_PROVIDER_ALLOCATIONS = "placement:resource_providers:allocations:list"
LIST_CANDIDATES = "placement:allocation_candidates:list"
RESHAPE = "placement:reshaper:reshape"
EXPORT = "trueup:export"

_ADMIN = "rule:admin_api"
_ADMIN_OR_SERVICE = "rule:admin_or_service_api"
_SERVICE = "rule:service_api"
_READER = "rule:admin_or_project_reader_or_service_api"

_PROVIDER = "/resource_providers/{uuid}"
_INVENTORY = f"{_PROVIDER}/inventories/{{resource_class}}"


class Rule(NamedTuple):
    """A policy rule with its default, and the requests that it authorizes."""

    name: str
    default: str
    description: str
    requests: tuple[str, ...] = ()
    in_project: bool = True
    """Whether it holds only for project-scoped tokens."""
    admins_too: bool = False
    """Whether administrators are allowed as well until new defaults are enforced."""


ROLES = (
    Rule("admin_api", "role:admin", "Administrators."),
    Rule("service_api", "role:service", "Other services.", admins_too=True),
    Rule(
        "admin_or_service_api",
        "role:admin or role:service",
        "Administrators and other services.",
        admins_too=True,
    ),
    Rule(
        "project_reader_api",
        "role:reader and project_id:%(project_id)s",
        "Readers of the requested project.",
        in_project=False,
        admins_too=True,
    ),
    Rule(
        "admin_or_project_reader_or_service_api",
        "role:admin or rule:project_reader_api or role:service",
        "Administrators, readers of the project, and other services.",
        admins_too=True,
    ),
)
"""The roles that the rules refer to."""

RULES = (
    Rule(
        LIST_PROVIDERS,
        _ADMIN_OR_SERVICE,
        "List resource providers.",
        ("GET /resource_providers",),
    ),
    Rule(
        CREATE_PROVIDER,
        _ADMIN_OR_SERVICE,
        "Create a resource provider.",
        ("POST /resource_providers",),
    ),
    Rule(SHOW_PROVIDER, _ADMIN_OR_SERVICE, "Show a resource provider.", (f"GET {_PROVIDER}",)),
    Rule(UPDATE_PROVIDER, _ADMIN_OR_SERVICE, "Update a resource provider.", (f"PUT {_PROVIDER}",)),
    Rule(
        DELETE_PROVIDER, _ADMIN_OR_SERVICE, "Delete a resource provider.", (f"DELETE {_PROVIDER}",)
    ),
    Rule(LIST_CLASSES, _ADMIN_OR_SERVICE, "List resource classes.", ("GET /resource_classes",)),
    Rule(CREATE_CLASS, _ADMIN_OR_SERVICE, "Create a resource class.", ("POST /resource_classes",)),
    Rule(
        SHOW_CLASS, _ADMIN_OR_SERVICE, "Show a resource class.", ("GET /resource_classes/{name}",)
    ),
    Rule(UPDATE_CLASS, _ADMIN_OR_SERVICE, "Update a class.", ("PUT /resource_classes/{name}",)),
    Rule(DELETE_CLASS, _ADMIN_OR_SERVICE, "Delete a class.", ("DELETE /resource_classes/{name}",)),
    Rule(
        LIST_INVENTORIES,
        _ADMIN_OR_SERVICE,
        "List the inventories of a provider.",
        (f"GET {_PROVIDER}/inventories",),
    ),
    Rule(
        CREATE_INVENTORY,
        _ADMIN_OR_SERVICE,
        "Create an inventory of a provider.",
        (f"POST {_PROVIDER}/inventories",),
    ),
    Rule(SHOW_INVENTORY, _ADMIN_OR_SERVICE, "Show an inventory.", (f"GET {_INVENTORY}",)),
    Rule(
        UPDATE_INVENTORY,
        _ADMIN_OR_SERVICE,
        "Update inventories of a provider.",
        (f"PUT {_PROVIDER}/inventories", f"PUT {_INVENTORY}"),
    ),
    Rule(
        DELETE_INVENTORY,
        _ADMIN_OR_SERVICE,
        "Delete inventories of a provider.",
        (f"DELETE {_PROVIDER}/inventories", f"DELETE {_INVENTORY}"),
    ),
    Rule(
        LIST_AGGREGATES,
        _ADMIN_OR_SERVICE,
        "List the aggregates of a provider.",
        (f"GET {_PROVIDER}/aggregates",),
    ),
    Rule(
        UPDATE_AGGREGATES,
        _ADMIN_OR_SERVICE,
        "Update the aggregates of a provider.",
        (f"PUT {_PROVIDER}/aggregates",),
    ),
    Rule(
        PROVIDER_USAGES,
        _ADMIN_OR_SERVICE,
        "List the usages of a provider.",
        (f"GET {_PROVIDER}/usages",),
    ),
    Rule(TOTAL_USAGES, _READER, "List the usages of a project.", ("GET /usages",)),
    Rule(LIST_TRAITS, _ADMIN_OR_SERVICE, "List traits.", ("GET /traits",)),
    Rule(SHOW_TRAIT, _ADMIN_OR_SERVICE, "Show a trait.", ("GET /traits/{name}",)),
    Rule(UPDATE_TRAIT, _ADMIN_OR_SERVICE, "Create a trait.", ("PUT /traits/{name}",)),
    Rule(DELETE_TRAIT, _ADMIN_OR_SERVICE, "Delete a trait.", ("DELETE /traits/{name}",)),
    Rule(
        LIST_PROVIDER_TRAITS,
        _ADMIN_OR_SERVICE,
        "List the traits of a provider.",
        (f"GET {_PROVIDER}/traits",),
    ),
    Rule(
        UPDATE_PROVIDER_TRAITS,
        _ADMIN_OR_SERVICE,
        "Update the traits of a provider.",
        (f"PUT {_PROVIDER}/traits",),
    ),
    Rule(
        DELETE_PROVIDER_TRAITS,
        _ADMIN_OR_SERVICE,
        "Delete the traits of a provider.",
        (f"DELETE {_PROVIDER}/traits",),
    ),
    Rule(
        MANAGE_ALLOCATIONS,
        _ADMIN_OR_SERVICE,
        "Update allocations of several consumers.",
        ("POST /allocations",),
    ),
    Rule(
        LIST_ALLOCATIONS,
        _ADMIN_OR_SERVICE,
        "List the allocations of a consumer.",
        ("GET /allocations/{consumer_uuid}",),
    ),
    Rule(
        UPDATE_ALLOCATIONS,
        _ADMIN_OR_SERVICE,
        "Update the allocations of a consumer.",
        ("PUT /allocations/{consumer_uuid}",),
    ),
    Rule(
        DELETE_ALLOCATIONS,
        _ADMIN_OR_SERVICE,
        "Delete the allocations of a consumer.",
        ("DELETE /allocations/{consumer_uuid}",),
    ),
    Rule(
        LIST_PROVIDER_ALLOCATIONS,
        _ADMIN_OR_SERVICE,
        "List the allocations of a provider.",
        (f"GET {_PROVIDER}/allocations",),
    ),
    Rule(
        LIST_CANDIDATES,
        _ADMIN_OR_SERVICE,
        "List allocation candidates.",
        ("GET /allocation_candidates",),
    ),
    Rule(RESHAPE, _SERVICE, "Reshape inventories and allocations.", ("POST /reshaper",)),
)

ADDITIONS: tuple[Rule, ...] = (
    Rule(EXPORT, _ADMIN, "Read the whole ledger.", ("GET /trueup/export",)),
)
"""Rules that upstream does not have."""
