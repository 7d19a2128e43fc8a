# SPDX-License-Identifier: Apache-2.0
"""Generated code accepts nothing that jsonschema refuses."""

import random
from typing import Any

import jsonschema
import pytest
from oslo_utils.uuidutils import is_uuid_like

from tests.placement.api.wire.test_schema import SHAPES
from trueup.placement.api.versions import V
from trueup.placement.api.wire.schema import (
    Schema,
    Validator,
    is_uuid_with_dashes,
    shape_at,
)

_UUID = "00000000-0000-0000-0000-0000000000aa"
_WORDS = (
    "", "a", "VCPU", "CUSTOM_A", "CUSTOM_A\n", "custom", "é", "ab\x00", "a" * 36, "a" * 300,
    _UUID, _UUID.upper(), _UUID.replace("-", ""), _UUID + "\n", "_G1", "-1", "1", "1.0", "isolate",
)  # fmt: skip
_NUMBERS = (0, 1, -1, 1.0, 1.5, 2**31 - 1, 2**31, 2**63, -0.0, 1e300, True, False)
_JUNK = (*_WORDS, *_NUMBERS, None, [], {}, [[]], {"a": 1}, [1, True], ["a", "a"], [{}, {}])


def near(schema: Schema, source: random.Random) -> Any:
    """A content that fits the schema, or nearly."""
    if source.random() < 0.04:
        return source.choice(_JUNK)
    if "anyOf" in schema:
        return near(source.choice(schema["anyOf"]), source)
    if "enum" in schema:
        return source.choice((*schema["enum"], "other"))
    kinds = schema.get("type", "string")
    kind = kinds if isinstance(kinds, str) else source.choice(kinds)
    if kind == "object":
        return _near_object(schema, source)
    if kind == "array":
        return [near(schema.get("items", {}), source) for _ in range(source.choice((0, 1, 2, 3)))]
    if kind in {"integer", "number"}:
        return source.choice(_NUMBERS)
    return None if kind == "null" else source.choice(_WORDS)


def _near_object(schema: Schema, source: random.Random) -> dict[Any, Any]:
    required = schema.get("required", ())
    made = {
        name: near(part, source)
        for name, part in schema.get("properties", {}).items()
        if source.random() < (0.97 if name in required else 0.5)
    }
    for part in schema.get("patternProperties", {}).values():
        for _ in range(source.choice((0, 1, 1, 2))):
            made[source.choice(_WORDS)] = near(part, source)
    if source.random() < 0.04:
        made[source.choice(("other", "traits", "uuid"))] = source.choice(_JUNK)
    return made


OF_BODIES, OF_QUERIES = jsonschema.FormatChecker(), jsonschema.FormatChecker()
OF_BODIES.checks("uuid")(is_uuid_like)


@pytest.mark.parametrize(
    ("formats", "is_uuid"), [(OF_BODIES, is_uuid_like), (OF_QUERIES, is_uuid_with_dashes)]
)
@pytest.mark.parametrize("name", SHAPES)
def test_accepted_content_is_valid_for_jsonschema(name: str, formats: Any, is_uuid: Any) -> None:
    checked, _ = SHAPES[name]
    schemas = {
        repr(schema): schema for schema in (shape_at(checked.shape, version) for version in V)
    }
    source, accepted = random.Random(name), 0
    for schema in schemas.values():
        exact = jsonschema.Draft202012Validator(schema, format_checker=formats)
        validator = Validator(schema, is_uuid)
        for _ in range(400):
            content = near(schema, source)
            problem = validator.problem(content)
            assert (problem is None) == exact.is_valid(content), (content, problem)
            accepted += problem is None
    assert accepted
