# SPDX-License-Identifier: Apache-2.0
"""Allocations in requests and answers: as a list, then by provider, then with the consumer."""

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from oslo_utils.uuidutils import is_uuid_like

from trueup.model.allocations import Allocation, Consumer, ConsumerAllocations
from trueup.model.generations import UNCHECKED, ExpectedGeneration
from trueup.model.names import UNKNOWN_CONSUMER_TYPE
from trueup.placement.api.errors import bad_request
from trueup.placement.api.http import Request
from trueup.placement.api.versions import V
from trueup.placement.api.wire.schema import (
    CLASS_PATTERN,
    INTEGER,
    UUID,
    UUID_PATTERN,
    Checked,
    Field,
    Object,
    list_of,
    map_of,
)
from trueup.placement.config import Settings

_EXTERNAL_ID = {"type": "string", "minLength": 1, "maxLength": 255}
_RESOURCES = map_of(CLASS_PATTERN, {"type": "integer", "minimum": 1}, minProperties=1)
_SUFFIX = "[a-zA-Z0-9_-]{1,64}"

_IN_LIST = Object(
    Field("resource_provider", Object(Field("uuid", UUID, required=True)), required=True),
    Field("resources", _RESOURCES, required=True),
)
_OF_PROVIDER = Object(Field("generation", INTEGER), Field("resources", _RESOURCES, required=True))
_SOME = map_of(UUID_PATTERN, _OF_PROVIDER, minProperties=1)
_ANY = map_of(UUID_PATTERN, _OF_PROVIDER, minProperties=0)

_CONSUMER = (
    Field("project_id", _EXTERNAL_ID, since=V.PROJECT_AND_USER, required=True),
    Field("user_id", _EXTERNAL_ID, since=V.PROJECT_AND_USER, required=True),
    Field(
        "consumer_generation",
        {"type": ["integer", "null"], "additionalProperties": False},
        since=V.CONSUMER_GENERATION,
        required=True,
    ),
    Field(
        "mappings",
        {
            "type": "object",
            "minProperties": 1,
            "patternProperties": {_SUFFIX: list_of(UUID, minItems=1)},
        },
        since=V.MAPPINGS,
    ),
    Field(
        "consumer_type",
        {**_EXTERNAL_ID, "pattern": CLASS_PATTERN},
        since=V.CONSUMER_TYPES,
        required=True,
    ),
)

PUT_ALLOCATIONS = Checked(
    Object(
        Field(
            "allocations",
            list_of(_IN_LIST, minItems=1),
            until=V.ALLOCATIONS_LINK,
            required=True,
        ),
        Field(
            "allocations",
            _SOME,
            since=V.ALLOCATIONS_BY_PROVIDER,
            until=V.ALL_CLASSES,
            required=True,
        ),
        Field("allocations", _ANY, since=V.CONSUMER_GENERATION, required=True),
        *_CONSUMER,
    )
)
BY_CONSUMER = Object(Field("allocations", _ANY, required=True), *_CONSUMER)
POST_ALLOCATIONS = Checked(map_of(UUID_PATTERN, BY_CONSUMER, minProperties=1))


def parse_consumer(request: Request, consumer_uuid: str) -> ConsumerAllocations:
    """The body of PUT /allocations/{consumer_uuid}. Raises Refused."""
    if not is_uuid_like(consumer_uuid):
        raise bad_request(f"Malformed consumer_uuid: {consumer_uuid}")
    given = PUT_ALLOCATIONS.parse(request)
    # The ledger has the canonical form of a UUID; clients may use others.
    return from_wire(str(uuid.UUID(consumer_uuid)), given, request.version, request.settings)


def parse_consumers(request: Request) -> list[ConsumerAllocations]:
    """The body of POST /allocations. Raises Refused."""
    given = POST_ALLOCATIONS.parse(request)
    return all_from_wire(given, request.version, request.settings)


def all_from_wire(
    given: Mapping[str, Mapping[str, Any]], version: V, settings: Settings
) -> list[ConsumerAllocations]:
    """The wanted allocations of each consumer."""
    return [from_wire(uuid, wanted, version, settings) for uuid, wanted in given.items()]


def from_wire(
    consumer_uuid: str, given: Mapping[str, Any], version: V, settings: Settings
) -> ConsumerAllocations:
    """The wanted allocations of one consumer, with defaults for fields of later microversions."""
    by_provider = given["allocations"]
    if isinstance(by_provider, list):
        by_provider = {entry["resource_provider"]["uuid"]: entry for entry in by_provider}
    expected: ExpectedGeneration = UNCHECKED
    if version >= V.CONSUMER_GENERATION:
        expected = given["consumer_generation"]
    return ConsumerAllocations(
        consumer_uuid=consumer_uuid,
        project_id=given.get("project_id", settings.incomplete_project_id),
        user_id=given.get("user_id", settings.incomplete_user_id),
        amounts={
            (provider_uuid, resource_class): int(amount)
            for provider_uuid, entry in by_provider.items()
            for resource_class, amount in entry["resources"].items()
        },
        type=given.get("consumer_type"),
        expected_generation=expected,
    )


def render_of_consumer(
    consumer: Consumer | None, held: Iterable[Allocation], version: V
) -> dict[str, Any]:
    """The allocations of a consumer, by provider."""
    by_provider: dict[str, Any] = {}
    for allocation in held:
        entry = by_provider.setdefault(allocation.provider_uuid, {"resources": {}})
        entry["resources"][allocation.resource_class] = allocation.amount
        entry["generation"] = allocation.provider_generation
    body: dict[str, Any] = {"allocations": by_provider}
    if consumer is None:
        return body
    if version >= V.ALLOCATIONS_BY_PROVIDER:
        body |= {"project_id": consumer.project_id, "user_id": consumer.user_id}
    if version >= V.CONSUMER_GENERATION:
        body["consumer_generation"] = consumer.generation
    if version >= V.CONSUMER_TYPES:
        body["consumer_type"] = consumer.type or UNKNOWN_CONSUMER_TYPE
    return body


def render_of_provider(
    held: Iterable[tuple[str, int, Allocation]], generation: int, version: V
) -> dict[str, Any]:
    """The allocations of a provider, by consumer."""
    by_consumer: dict[str, Any] = {}
    for consumer_uuid, consumer_generation, allocation in held:
        entry = by_consumer.setdefault(consumer_uuid, {"resources": {}})
        entry["resources"][allocation.resource_class] = allocation.amount
        if version >= V.CONSUMER_GENERATION:
            entry["consumer_generation"] = consumer_generation
    return {"allocations": by_consumer, "resource_provider_generation": generation}
