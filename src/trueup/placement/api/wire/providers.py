# SPDX-License-Identifier: Apache-2.0
"""Providers in requests and answers, and the filters of their list."""

import uuid
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

import orjson

from trueup.model.providers import ListedProviders, Provider
from trueup.model.requests import ProviderFilters
from trueup.placement.api.http import Parts, Request
from trueup.placement.api.versions import V
from trueup.placement.api.wire import query
from trueup.placement.api.wire.columns import encoded, encoded_bare, joined
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

_UUID, _NAME_OF, _GENERATION, _PARENT_UUID, _ROOT_UUID = range(5)

_Piece = TypeVar("_Piece", bytes, list[bytes])

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
    """A provider, with links to its parts."""
    values = {
        _UUID: orjson.dumps(provider.uuid)[1:-1],
        _NAME_OF: orjson.dumps(provider.name),
        _GENERATION: orjson.dumps(provider.generation),
        _PARENT_UUID: orjson.dumps(provider.parent_uuid),
        _ROOT_UUID: orjson.dumps(provider.root_uuid),
    }
    return orjson.Fragment(b"".join(_layout(request.root_path, request.version).pieces(values)))


def render_list(providers: ListedProviders, request: Request) -> Parts:
    """The JSON of a list of providers."""
    layout = _layout(request.root_path, request.version)
    starts = range(0, max(1, len(providers.uuids)), _PROVIDERS_OF_A_PART)
    parts = []
    for first in starts:
        before = b"," if first else b'{"resource_providers":['
        after = b"]}" if first == starts[-1] else b""
        shown = providers.some(slice(first, first + _PROVIDERS_OF_A_PART))
        columns = {
            _UUID: encoded_bare(shown.uuids),
            _NAME_OF: encoded(shown.names),
            _GENERATION: encoded(shown.generations),
            _PARENT_UUID: encoded(shown.parent_uuids),
            _ROOT_UUID: encoded(shown.root_uuids),
        }
        parts.append(joined(layout.pieces(columns), len(shown.uuids), before, after))
    return Parts(parts)


class _Layout(NamedTuple):
    """The text of a provider: its values, each with the text before it, and the text at the end."""

    values: Sequence[tuple[bytes, int]]
    last: bytes

    def pieces(self, given: Mapping[int, _Piece]) -> list[bytes | _Piece]:
        """The texts with the given values between them."""
        return [piece for text, name in self.values for piece in (text, given[name])] + [self.last]


@lru_cache(maxsize=256)
def _layout(root_path: str, version: V) -> _Layout:
    """PERF: cached, because making it takes a tenth of the service's time for one provider."""
    path = orjson.dumps(root_path)[1:-1].decode() + "/resource_providers/"
    values = [('{"uuid":"', _UUID), ('","name":', _NAME_OF), (',"generation":', _GENERATION)]
    before, end = ',"links":[', ""
    for rel, since in _LINKS:
        if version >= since:
            values.append((f'{before}{{"rel":"{rel}","href":"{path}', _UUID))
            end = '"}' if rel == "self" else f'/{rel}"}}'
            before = f"{end},"
    end += "]"
    if version >= V.NESTED_PROVIDERS:
        values += [(f'{end},"parent_provider_uuid":', _PARENT_UUID)]
        values += [(',"root_provider_uuid":', _ROOT_UUID)]
        end = ""
    return _Layout([(text.encode(), name) for text, name in values], f"{end}}}".encode())
