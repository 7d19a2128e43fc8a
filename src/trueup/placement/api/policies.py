# SPDX-License-Identifier: Apache-2.0
"""The policy rules, as data: upstream's names, defaults and scopes."""

from oslo_log import versionutils
from oslo_policy import policy

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

_ADMIN_OR_SERVICE = "rule:admin_or_service_api"
_SERVICE = "rule:service_api"
_READER = "rule:admin_or_project_reader_or_service_api"

_PROVIDER = "/resource_providers/{uuid}"
_INVENTORY = f"{_PROVIDER}/inventories/{{resource_class}}"

_PROJECT = ["project"]

# Name, default, what it allows, and the requests it is asked for.
_RULES: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    (
        LIST_PROVIDERS,
        _ADMIN_OR_SERVICE,
        "List resource providers.",
        ("GET /resource_providers",),
    ),
    (
        CREATE_PROVIDER,
        _ADMIN_OR_SERVICE,
        "Create a resource provider.",
        ("POST /resource_providers",),
    ),
    (SHOW_PROVIDER, _ADMIN_OR_SERVICE, "Show a resource provider.", (f"GET {_PROVIDER}",)),
    (UPDATE_PROVIDER, _ADMIN_OR_SERVICE, "Update a resource provider.", (f"PUT {_PROVIDER}",)),
    (DELETE_PROVIDER, _ADMIN_OR_SERVICE, "Delete a resource provider.", (f"DELETE {_PROVIDER}",)),
    (LIST_CLASSES, _ADMIN_OR_SERVICE, "List resource classes.", ("GET /resource_classes",)),
    (CREATE_CLASS, _ADMIN_OR_SERVICE, "Create a resource class.", ("POST /resource_classes",)),
    (SHOW_CLASS, _ADMIN_OR_SERVICE, "Show a resource class.", ("GET /resource_classes/{name}",)),
    (UPDATE_CLASS, _ADMIN_OR_SERVICE, "Update a class.", ("PUT /resource_classes/{name}",)),
    (DELETE_CLASS, _ADMIN_OR_SERVICE, "Delete a class.", ("DELETE /resource_classes/{name}",)),
    (
        LIST_INVENTORIES,
        _ADMIN_OR_SERVICE,
        "List the inventories of a provider.",
        (f"GET {_PROVIDER}/inventories",),
    ),
    (
        CREATE_INVENTORY,
        _ADMIN_OR_SERVICE,
        "Create an inventory of a provider.",
        (f"POST {_PROVIDER}/inventories",),
    ),
    (SHOW_INVENTORY, _ADMIN_OR_SERVICE, "Show an inventory.", (f"GET {_INVENTORY}",)),
    (
        UPDATE_INVENTORY,
        _ADMIN_OR_SERVICE,
        "Update inventories of a provider.",
        (f"PUT {_PROVIDER}/inventories", f"PUT {_INVENTORY}"),
    ),
    (
        DELETE_INVENTORY,
        _ADMIN_OR_SERVICE,
        "Delete inventories of a provider.",
        (f"DELETE {_PROVIDER}/inventories", f"DELETE {_INVENTORY}"),
    ),
    (
        LIST_AGGREGATES,
        _ADMIN_OR_SERVICE,
        "List the aggregates of a provider.",
        (f"GET {_PROVIDER}/aggregates",),
    ),
    (
        UPDATE_AGGREGATES,
        _ADMIN_OR_SERVICE,
        "Update the aggregates of a provider.",
        (f"PUT {_PROVIDER}/aggregates",),
    ),
    (
        PROVIDER_USAGES,
        _ADMIN_OR_SERVICE,
        "List what is used of a provider.",
        (f"GET {_PROVIDER}/usages",),
    ),
    (TOTAL_USAGES, _READER, "List what a project uses.", ("GET /usages",)),
    (LIST_TRAITS, _ADMIN_OR_SERVICE, "List traits.", ("GET /traits",)),
    (SHOW_TRAIT, _ADMIN_OR_SERVICE, "Show a trait.", ("GET /traits/{name}",)),
    (UPDATE_TRAIT, _ADMIN_OR_SERVICE, "Create a trait.", ("PUT /traits/{name}",)),
    (DELETE_TRAIT, _ADMIN_OR_SERVICE, "Delete a trait.", ("DELETE /traits/{name}",)),
    (
        LIST_PROVIDER_TRAITS,
        _ADMIN_OR_SERVICE,
        "List the traits of a provider.",
        (f"GET {_PROVIDER}/traits",),
    ),
    (
        UPDATE_PROVIDER_TRAITS,
        _ADMIN_OR_SERVICE,
        "Update the traits of a provider.",
        (f"PUT {_PROVIDER}/traits",),
    ),
    (
        DELETE_PROVIDER_TRAITS,
        _ADMIN_OR_SERVICE,
        "Delete the traits of a provider.",
        (f"DELETE {_PROVIDER}/traits",),
    ),
    (
        MANAGE_ALLOCATIONS,
        _ADMIN_OR_SERVICE,
        "Update allocations of several consumers.",
        ("POST /allocations",),
    ),
    (
        LIST_ALLOCATIONS,
        _ADMIN_OR_SERVICE,
        "List the allocations of a consumer.",
        ("GET /allocations/{consumer_uuid}",),
    ),
    (
        UPDATE_ALLOCATIONS,
        _ADMIN_OR_SERVICE,
        "Update the allocations of a consumer.",
        ("PUT /allocations/{consumer_uuid}",),
    ),
    (
        DELETE_ALLOCATIONS,
        _ADMIN_OR_SERVICE,
        "Delete the allocations of a consumer.",
        ("DELETE /allocations/{consumer_uuid}",),
    ),
    (
        LIST_PROVIDER_ALLOCATIONS,
        _ADMIN_OR_SERVICE,
        "List the allocations of a provider.",
        (f"GET {_PROVIDER}/allocations",),
    ),
    (
        LIST_CANDIDATES,
        _ADMIN_OR_SERVICE,
        "List allocation candidates.",
        ("GET /allocation_candidates",),
    ),
    (RESHAPE, _SERVICE, "Reshape inventories and allocations.", ("POST /reshaper",)),
)


def rule_defaults() -> list[policy.RuleDefault]:
    """All rules with their defaults, for an enforcer or a sample file.

    Rules remember what they were registered with, so each enforcer needs its own.
    """
    rules = [
        policy.DocumentedRuleDefault(
            name, default, description, [_operation(one) for one in requests], scope_types=_PROJECT
        )
        for name, default, description, requests in _RULES
    ]
    return [*_roles(), *rules]


def _operation(request: str) -> policy.Operation:
    method, path = request.split()
    return policy.Operation(method=method, path=path)


def _roles() -> list[policy.RuleDefault]:
    """Who the other rules speak of. Until new defaults are enforced, admins may do it all."""
    earlier = policy.DeprecatedRule(
        name="rule:admin_api",
        check_str="role:admin",
        deprecated_reason="Placement's policies have roles of their own, with a scope.",
        deprecated_since=versionutils.deprecated.WALLABY,
    )
    return [
        policy.RuleDefault("admin_api", "role:admin", "Administrators.", scope_types=_PROJECT),
        policy.RuleDefault(
            "service_api",
            "role:service",
            "Other services.",
            scope_types=_PROJECT,
            deprecated_rule=earlier,
        ),
        policy.RuleDefault(
            "admin_or_service_api",
            "role:admin or role:service",
            "Administrators and other services.",
            scope_types=_PROJECT,
            deprecated_rule=earlier,
        ),
        policy.RuleDefault(
            "project_reader_api",
            "role:reader and project_id:%(project_id)s",
            "Readers of the project that is asked for.",
            deprecated_rule=earlier,
        ),
        policy.RuleDefault(
            "admin_or_project_reader_or_service_api",
            "role:admin or rule:project_reader_api or role:service",
            "Administrators, readers of the project, and other services.",
            scope_types=_PROJECT,
            deprecated_rule=earlier,
        ),
    ]
