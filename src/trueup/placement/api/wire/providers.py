# SPDX-License-Identifier: Apache-2.0
"""A provider on the wire, and the filters of their list."""

import uuid
from typing import Any

from trueup.model.providers import Provider
from trueup.model.requests import ProviderFilters
from trueup.placement.api.http import Request
from trueup.placement.api.versions import V
from trueup.placement.api.wire import query
from trueup.placement.api.wire.schema import STRING, UUID, Checked, Field, Object
from trueup.placement.transactions.providers import WantedProvider

_NAME = Field("name", {"type": "string", "maxLength": 200}, required=True)
_PARENT = Field(
    "parent_provider_uuid",
    {"anyOf": [UUID, {"type": "null"}]},
    since=V.NESTED_PROVIDERS,
)

POST_PROVIDER = Checked(Object(_NAME, Field("uuid", UUID), _PARENT))
PUT_PROVIDER = Checked(Object(_NAME, _PARENT))

LIST_PROVIDERS = Checked(
    Object(
        Field("name", STRING),
        Field("uuid", UUID),
        Field("member_of", STRING, since=V.MEMBER_OF),
        Field("resources", STRING, since=V.RESOURCES),
        Field("in_tree", UUID, since=V.NESTED_PROVIDERS),
        Field("required", STRING, since=V.REQUIRED),
    )
)

_LINKS = (
    ("inventories", V.INITIAL),
    ("usages", V.INITIAL),
    ("aggregates", V.AGGREGATES),
    ("traits", V.TRAITS),
    ("allocations", V.ALLOCATIONS_LINK),
)


def parse_new(request: Request) -> WantedProvider:
    """The body of POST /resource_providers. Raises Refused."""
    given = POST_PROVIDER.parse(request)
    own_uuid = given.get("uuid")
    return WantedProvider(
        uuid=str(uuid.UUID(own_uuid)) if own_uuid else str(uuid.uuid4()),
        name=given["name"],
        parent_uuid=given.get("parent_provider_uuid"),
        sets_parent=True,
    )


def parse_changed(request: Request, provider_uuid: str) -> WantedProvider:
    """The body of PUT /resource_providers/{uuid}. Raises Refused."""
    given = PUT_PROVIDER.parse(request)
    return WantedProvider(
        uuid=provider_uuid,
        name=given["name"],
        parent_uuid=given.get("parent_provider_uuid"),
        sets_parent="parent_provider_uuid" in given,
    )


def parse_filters(request: Request) -> ProviderFilters:
    """The query of GET /resource_providers. Raises Refused."""
    pairs, version = request.query(), request.version
    given = LIST_PROVIDERS.check_query(pairs, version)
    member_of, forbidden_aggregates = query.parse_member_of(pairs, version)
    required, forbidden = query.parse_required(pairs, version)
    resources = given.get("resources")
    return ProviderFilters(
        name=given.get("name"),
        uuid=given.get("uuid"),
        in_tree=given.get("in_tree"),
        resources=query.parse_resources(resources) if resources is not None else (),
        required=required,
        forbidden=forbidden,
        member_of=member_of,
        forbidden_aggregates=forbidden_aggregates,
    )


def render(provider: Provider, request: Request) -> dict[str, Any]:
    """A provider, with links to what else there is about it."""
    path = f"{request.root_path}/resource_providers/{provider.uuid}"
    links = [{"rel": "self", "href": path}]
    links += [
        {"rel": name, "href": f"{path}/{name}"}
        for name, since in _LINKS
        if request.version >= since
    ]
    body: dict[str, Any] = {
        "uuid": provider.uuid,
        "name": provider.name,
        "generation": provider.generation,
        "links": links,
    }
    if request.version >= V.NESTED_PROVIDERS:
        body["parent_provider_uuid"] = provider.parent_uuid
        body["root_provider_uuid"] = provider.root_uuid
    return body
