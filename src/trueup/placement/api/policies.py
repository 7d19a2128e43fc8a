# SPDX-License-Identifier: Apache-2.0
"""The policy rules, as data: upstream's names, defaults and scopes, and the requests of each."""

from typing import NamedTuple

_ADMIN = "rule:admin_api"
_ADMIN_OR_SERVICE = "rule:admin_or_service_api"
_SERVICE = "rule:service_api"
_READER = "rule:admin_or_project_reader_or_service_api"

_PROVIDER = "/resource_providers/{uuid}"
_INVENTORY = f"{_PROVIDER}/inventories/{{resource_class}}"


class Rule(NamedTuple):
    """A policy rule with its default, and the requests that it authorizes."""

    name: str
    description: str
    requests: tuple[str, ...]
    default: str = _ADMIN_OR_SERVICE


class Role(NamedTuple):
    """A rule that other rules refer to."""

    name: str
    default: str
    description: str
    in_project: bool = True
    """Whether it holds only for project-scoped tokens."""
    admins_too: bool = True
    """Whether administrators are allowed as well until new defaults are enforced."""


ROLES = (
    Role("admin_api", "role:admin", "Administrators.", admins_too=False),
    Role("service_api", "role:service", "Other services."),
    Role(
        "admin_or_service_api", "role:admin or role:service", "Administrators and other services."
    ),
    Role(
        "project_reader_api",
        "role:reader and project_id:%(project_id)s",
        "Readers of the requested project.",
        in_project=False,
    ),
    Role(
        "admin_or_project_reader_or_service_api",
        "role:admin or rule:project_reader_api or role:service",
        "Administrators, readers of the project, and other services.",
    ),
)

TOTAL_USAGES = "placement:usages"
"""Its handler asks for it: whether it allows a request depends on the requested project."""

RULES = (
    Rule(
        "placement:resource_providers:list",
        "List resource providers.",
        ("GET /resource_providers",),
    ),
    Rule(
        "placement:resource_providers:create",
        "Create a resource provider.",
        ("POST /resource_providers",),
    ),
    Rule("placement:resource_providers:show", "Show a resource provider.", (f"GET {_PROVIDER}",)),
    Rule(
        "placement:resource_providers:update", "Update a resource provider.", (f"PUT {_PROVIDER}",)
    ),
    Rule(
        "placement:resource_providers:delete",
        "Delete a resource provider.",
        (f"DELETE {_PROVIDER}",),
    ),
    Rule("placement:resource_classes:list", "List resource classes.", ("GET /resource_classes",)),
    Rule(
        "placement:resource_classes:create", "Create a resource class.", ("POST /resource_classes",)
    ),
    Rule(
        "placement:resource_classes:show",
        "Show a resource class.",
        ("GET /resource_classes/{name}",),
    ),
    Rule("placement:resource_classes:update", "Update a class.", ("PUT /resource_classes/{name}",)),
    Rule(
        "placement:resource_classes:delete", "Delete a class.", ("DELETE /resource_classes/{name}",)
    ),
    Rule(
        "placement:resource_providers:inventories:list",
        "List the inventories of a provider.",
        (f"GET {_PROVIDER}/inventories",),
    ),
    Rule(
        "placement:resource_providers:inventories:create",
        "Create an inventory of a provider.",
        (f"POST {_PROVIDER}/inventories",),
    ),
    Rule(
        "placement:resource_providers:inventories:show",
        "Show an inventory.",
        (f"GET {_INVENTORY}",),
    ),
    Rule(
        "placement:resource_providers:inventories:update",
        "Update inventories of a provider.",
        (f"PUT {_PROVIDER}/inventories", f"PUT {_INVENTORY}"),
    ),
    Rule(
        "placement:resource_providers:inventories:delete",
        "Delete inventories of a provider.",
        (f"DELETE {_PROVIDER}/inventories", f"DELETE {_INVENTORY}"),
    ),
    Rule(
        "placement:resource_providers:aggregates:list",
        "List the aggregates of a provider.",
        (f"GET {_PROVIDER}/aggregates",),
    ),
    Rule(
        "placement:resource_providers:aggregates:update",
        "Update the aggregates of a provider.",
        (f"PUT {_PROVIDER}/aggregates",),
    ),
    Rule(
        "placement:resource_providers:usages",
        "List the usages of a provider.",
        (f"GET {_PROVIDER}/usages",),
    ),
    Rule(TOTAL_USAGES, "List the usages of a project.", ("GET /usages",), _READER),
    Rule("placement:traits:list", "List traits.", ("GET /traits",)),
    Rule("placement:traits:show", "Show a trait.", ("GET /traits/{name}",)),
    Rule("placement:traits:update", "Create a trait.", ("PUT /traits/{name}",)),
    Rule("placement:traits:delete", "Delete a trait.", ("DELETE /traits/{name}",)),
    Rule(
        "placement:resource_providers:traits:list",
        "List the traits of a provider.",
        (f"GET {_PROVIDER}/traits",),
    ),
    Rule(
        "placement:resource_providers:traits:update",
        "Update the traits of a provider.",
        (f"PUT {_PROVIDER}/traits",),
    ),
    Rule(
        "placement:resource_providers:traits:delete",
        "Delete the traits of a provider.",
        (f"DELETE {_PROVIDER}/traits",),
    ),
    Rule(
        "placement:allocations:manage",
        "Update allocations of several consumers.",
        ("POST /allocations",),
    ),
    Rule(
        "placement:allocations:list",
        "List the allocations of a consumer.",
        ("GET /allocations/{consumer_uuid}",),
    ),
    Rule(
        "placement:allocations:update",
        "Update the allocations of a consumer.",
        ("PUT /allocations/{consumer_uuid}",),
    ),
    Rule(
        "placement:allocations:delete",
        "Delete the allocations of a consumer.",
        ("DELETE /allocations/{consumer_uuid}",),
    ),
    Rule(
        "placement:resource_providers:allocations:list",
        "List the allocations of a provider.",
        (f"GET {_PROVIDER}/allocations",),
    ),
    Rule(
        "placement:allocation_candidates:list",
        "List allocation candidates.",
        ("GET /allocation_candidates",),
    ),
    Rule(
        "placement:reshaper:reshape",
        "Reshape inventories and allocations.",
        ("POST /reshaper",),
        _SERVICE,
    ),
)

ADDITIONS: tuple[Rule, ...] = (
    Rule("trueup:export", "Read the whole ledger.", ("GET /trueup/export",), _ADMIN),
)
"""Rules that upstream does not have."""

RULE_OF = {request: rule.name for rule in (*RULES, *ADDITIONS) for request in rule.requests}
"""The rule of each request, as `GET /traits`."""
