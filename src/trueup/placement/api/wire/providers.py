# SPDX-License-Identifier: Apache-2.0
"""A provider on the wire, and the filters of their list."""

import uuid
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

import orjson

from trueup.model.providers import ListedProviders, Provider
from trueup.model.requests import ProviderFilters
from trueup.placement.api.http import Parts, Request
from trueup.placement.api.versions import V
from trueup.placement.api.wire import query
from trueup.placement.api.wire.columns import Pieces, encoded, encoded_bare, joined
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

_PROVIDERS_OF_A_PART = 1024
"""PERF: the pieces of ten thousand providers at once take a fifth more time, and much memory."""

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
    ("self", V.INITIAL),
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


def render(provider: Provider, request: Request) -> orjson.Fragment:
    """A provider, with links to what else there is about it."""
    single = ListedProviders(
        [provider.uuid],
        [provider.name],
        [provider.generation],
        [provider.root_uuid],
        [provider.parent_uuid],
    )
    return orjson.Fragment(_rendered(single, request))


def render_list(providers: ListedProviders, request: Request) -> Parts:
    """The JSON of a list of providers."""
    starts = range(0, max(1, len(providers.uuids)), _PROVIDERS_OF_A_PART)
    parts = []
    for first in starts:
        before = b"," if first else b'{"resource_providers":['
        after = b"]}" if first == starts[-1] else b""
        shown = providers.some(slice(first, first + _PROVIDERS_OF_A_PART))
        parts.append(_rendered(shown, request, before, after))
    return Parts(parts)


def _rendered(
    providers: ListedProviders, request: Request, before: bytes = b"", after: bytes = b""
) -> bytes:
    """The JSON of each provider, with commas between them, and what comes before and after all."""
    texts = _texts(request.root_path, request.version)
    uuids = encoded_bare(providers.uuids)
    columns = [uuids, encoded(providers.names), encoded(providers.generations)]
    columns += [uuids] * sum(request.version >= since for _, since in _LINKS)
    if request.version >= V.NESTED_PROVIDERS:
        columns += [encoded(providers.parent_uuids), encoded(providers.root_uuids)]
    pairs: Iterable[Pieces] = zip(texts, columns, strict=False)
    return joined([*chain.from_iterable(pairs), texts[-1]], len(uuids), before, after)


@lru_cache(maxsize=256)
def _texts(root_path: str, version: V) -> tuple[bytes, ...]:
    """What stands before each value of a provider, and after the last one.

    PERF: to make it anew takes a tenth of the service's time for one provider.
    """
    path = orjson.dumps(root_path)[1:-1].decode() + "/resource_providers/"
    texts = ['{"uuid":"', '","name":', ',"generation":']
    before = ',"links":['
    for rel, since in _LINKS:
        if version >= since:
            texts.append(f'{before}{{"rel":"{rel}","href":"{path}')
            before = '"},' if rel == "self" else f'/{rel}"}},'
    end = before.removesuffix(",") + "]"
    if version >= V.NESTED_PROVIDERS:
        texts += [f'{end},"parent_provider_uuid":', ',"root_provider_uuid":']
        end = ""
    return tuple(text.encode() for text in [*texts, end + "}"])
