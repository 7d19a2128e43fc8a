# SPDX-License-Identifier: Apache-2.0
"""The shapes of bodies and queries are upstream's at every microversion."""

from typing import Any

import pytest
from falcon.testing import create_environ
from placement.schemas import (
    aggregate,
    allocation,
    allocation_candidate,
    inventory,
    resource_class,
    resource_provider,
    trait,
    usage,
)
from placement.schemas import reshaper as upstream_reshaper

from trueup.placement.api.errors import Refused
from trueup.placement.api.http import Request
from trueup.placement.api.versions import V
from trueup.placement.api.wire import (
    aggregates,
    allocations,
    candidates,
    inventories,
    providers,
    reshaper,
    resource_classes,
    traits,
    usages,
)
from trueup.placement.api.wire.schema import STRING, Checked, Field, Object, map_of, shape_at
from trueup.placement.config import from_mapping

Upstream = dict[int, Any]
"""By the first minor version at which it holds."""

SHAPES: dict[str, tuple[Checked, Upstream]] = {
    "POST provider": (
        providers.POST_PROVIDER,
        {
            0: resource_provider.POST_RESOURCE_PROVIDER_SCHEMA,
            14: resource_provider.POST_RP_SCHEMA_V1_14,
        },
    ),
    "PUT provider": (
        providers.PUT_PROVIDER,
        {
            0: resource_provider.PUT_RESOURCE_PROVIDER_SCHEMA,
            14: resource_provider.PUT_RP_SCHEMA_V1_14,
        },
    ),
    "GET providers": (
        providers.LIST_PROVIDERS,
        {
            0: resource_provider.GET_RPS_SCHEMA_1_0,
            3: resource_provider.GET_RPS_SCHEMA_1_3,
            4: resource_provider.GET_RPS_SCHEMA_1_4,
            14: resource_provider.GET_RPS_SCHEMA_1_14,
            18: resource_provider.GET_RPS_SCHEMA_1_18,
        },
    ),
    "POST inventory": (inventories.POST_INVENTORY, {0: inventory.POST_INVENTORY_SCHEMA}),
    "PUT inventory": (inventories.PUT_INVENTORY, {0: inventory.BASE_INVENTORY_SCHEMA}),
    "PUT allocations": (
        allocations.PUT_ALLOCATIONS,
        {
            0: allocation.ALLOCATION_SCHEMA,
            8: allocation.ALLOCATION_SCHEMA_V1_8,
            12: allocation.ALLOCATION_SCHEMA_V1_12,
            28: allocation.ALLOCATION_SCHEMA_V1_28,
            34: allocation.ALLOCATION_SCHEMA_V1_34,
            38: allocation.ALLOCATION_SCHEMA_V1_38,
        },
    ),
    "POST allocations": (
        allocations.POST_ALLOCATIONS,
        {
            13: allocation.POST_ALLOCATIONS_V1_13,
            28: allocation.POST_ALLOCATIONS_V1_28,
            34: allocation.POST_ALLOCATIONS_V1_34,
            38: allocation.POST_ALLOCATIONS_V1_38,
        },
    ),
    "POST reshaper": (
        reshaper.POST_RESHAPE,
        {
            30: upstream_reshaper.POST_RESHAPER_SCHEMA,
            34: upstream_reshaper.POST_RESHAPER_SCHEMA_V1_34,
            38: upstream_reshaper.POST_RESHAPER_SCHEMA_V1_38,
        },
    ),
    "GET candidates": (
        candidates.LIST_CANDIDATES,
        {
            10: allocation_candidate.GET_SCHEMA_1_10,
            16: allocation_candidate.GET_SCHEMA_1_16,
            17: allocation_candidate.GET_SCHEMA_1_17,
            21: allocation_candidate.GET_SCHEMA_1_21,
            25: allocation_candidate.GET_SCHEMA_1_25,
            31: allocation_candidate.GET_SCHEMA_1_31,
            33: allocation_candidate.GET_SCHEMA_1_33,
            35: allocation_candidate.GET_SCHEMA_1_35,
            36: allocation_candidate.GET_SCHEMA_1_36,
        },
    ),
    "PUT aggregates as a list": (
        aggregates.PUT_LIST,
        {1: aggregate.PUT_AGGREGATES_SCHEMA_V1_1},
    ),
    "PUT aggregates": (aggregates.PUT_AGGREGATES, {19: aggregate.PUT_AGGREGATES_SCHEMA_V1_19}),
    "PUT traits": (traits.PUT_PROVIDER_TRAITS, {6: trait.SET_TRAITS_FOR_RP_SCHEMA}),
    "GET traits": (traits.LIST_TRAITS, {6: trait.LIST_TRAIT_SCHEMA}),
    "resource class": (resource_classes.NAMED, {2: resource_class.POST_RC_SCHEMA_V1_2}),
    "GET usages": (
        usages.LIST_USAGES,
        {9: usage.GET_USAGES_SCHEMA_1_9, 38: usage.GET_USAGES_SCHEMA_V1_38},
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_shape_is_upstreams_at_every_microversion(name: str) -> None:
    ours, upstream = SHAPES[name]
    for version in range(min(upstream), max(V) + 1):
        theirs = upstream[max(first for first in upstream if first <= version)]
        assert _settled(shape_at(ours.shape, version)) == _settled(theirs), f"1.{version}"


def _settled(schema: Any) -> Any:
    """The schema without differences of no meaning: the order of `required`, repeated open maps."""
    if isinstance(schema, dict):
        settled = {key: _settled(value) for key, value in schema.items()}
        if "required" in settled:
            settled["required"] = sorted(settled["required"])
        if settled.get("additionalProperties") is True:
            del settled["additionalProperties"]
        return settled
    return [_settled(part) for part in schema] if isinstance(schema, list) else schema


LETTER = Object(
    Field("to", STRING, required=True),
    Field("stamp", STRING, until=V.TRAITS),
    Field("code", map_of("^[a-z]$", STRING), since=V.TRAITS),
)


def test_fields_come_and_go() -> None:
    assert set(LETTER.at(5)["properties"]) == {"to", "stamp"}
    assert set(LETTER.at(6)["properties"]) == {"to", "stamp", "code"}
    assert set(LETTER.at(7)["properties"]) == {"to", "code"}
    assert LETTER.at(7)["properties"]["code"]["patternProperties"] == {"^[a-z]$": STRING}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "Malformed JSON"),
        (b"\xff", "Malformed JSON"),
        (b"{}", "'to' is a required property"),
        (b'{"to": 5}', "is not of type 'string'"),
        (b'{"to": "a", "from": "b"}', "Additional properties are not allowed"),
    ],
)
def test_other_bodies_are_refused(body: bytes, reason: str) -> None:
    request = Request(create_environ(method="PUT", body=body))
    request.version, request.settings = V.TRAITS, from_mapping({})
    with pytest.raises(Refused, match=reason) as error:
        Checked(LETTER).parse(request)
    assert error.value.status == 400


def test_a_uuid_needs_dashes_in_a_query_only() -> None:
    named = Checked(Object(Field("uuid", {"type": "string", "format": "uuid"})))
    bare = "5eb033fdc550420ea31c3ec2703a403c"
    named.check({"uuid": bare}, V.TRAITS)
    with pytest.raises(Refused, match="is not a 'uuid'"):
        named.check_query([("uuid", bare)], V.TRAITS)
