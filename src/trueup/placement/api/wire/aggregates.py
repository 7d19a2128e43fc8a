# SPDX-License-Identifier: Apache-2.0
"""The aggregates of a provider: first a bare list, then a list with a generation."""

from collections.abc import Iterable
from typing import Any

from trueup.model.generations import UNCHECKED, ExpectedGeneration
from trueup.placement.api.http import Request
from trueup.placement.api.versions import V
from trueup.placement.api.wire.schema import INTEGER, UUID, Checked, Field, Object, list_of

_UUIDS = list_of(UUID, uniqueItems=True)

PUT_LIST = Checked(_UUIDS)
PUT_AGGREGATES = Checked(
    Object(
        Field("aggregates", _UUIDS, required=True),
        Field("resource_provider_generation", INTEGER, required=True),
    )
)


def parse(request: Request) -> tuple[list[str], ExpectedGeneration]:
    """The body of PUT …/aggregates: aggregates, and expected generation. Raises Refused."""
    if request.version < V.AGGREGATE_GENERATION:
        return PUT_LIST.parse(request), UNCHECKED
    given = PUT_AGGREGATES.parse(request)
    return given["aggregates"], given["resource_provider_generation"]


def render(aggregates: Iterable[str], generation: int, version: V) -> dict[str, Any]:
    """The aggregates of a provider."""
    body: dict[str, Any] = {"aggregates": list(aggregates)}
    if version >= V.AGGREGATE_GENERATION:
        body["resource_provider_generation"] = generation
    return body
