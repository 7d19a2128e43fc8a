# SPDX-License-Identifier: Apache-2.0
"""Trait names, the filters of their list, and the traits of a provider."""

import re
from typing import Any

from trueup.placement.api.errors import bad_request
from trueup.placement.api.http import Request
from trueup.placement.api.wire.schema import (
    CUSTOM_PATTERN,
    INTEGER,
    STRING,
    Checked,
    Field,
    Object,
    list_of,
    refuse_line_break,
)

LIST_TRAITS = Checked(Object(Field("name", STRING), Field("associated", STRING)))
PUT_PROVIDER_TRAITS = Checked(
    Object(
        Field(
            "traits", list_of({"type": "string", "minLength": 1, "maxLength": 255}), required=True
        ),
        Field("resource_provider_generation", INTEGER, required=True),
    )
)

_LONGEST = 255


def refuse_bad_name(name: str) -> None:
    """Raise Refused unless an operator may make a trait of this name."""
    if len(name) > _LONGEST or not re.search(CUSTOM_PATTERN, name):
        raise bad_request(
            "The trait is invalid. A valid trait must be no longer than 255 characters, "
            'start with the prefix "CUSTOM_" and use following characters: '
            '"A"-"Z", "0"-"9" and "_"'
        )
    refuse_line_break(name)


def parse_filters(request: Request) -> dict[str, Any]:
    """The query of GET /traits, as arguments for the store. Raises Refused."""
    given = LIST_TRAITS.check_query(request.query(), request.version)
    filters: dict[str, Any] = {}
    if "name" in given:
        filters |= _name_filter(given["name"])
    if "associated" in given:
        associated = given["associated"].lower()
        if associated not in {"true", "false"}:
            raise bad_request('The query parameter "associated" only accepts "true" or "false"')
        filters["associated"] = associated == "true"
    return filters


def parse_of_provider(request: Request) -> tuple[list[str], int]:
    """The body of PUT …/traits: traits, and expected generation. Raises Refused."""
    given = PUT_PROVIDER_TRAITS.parse(request)
    return given["traits"], given["resource_provider_generation"]


def _name_filter(value: str) -> dict[str, Any]:
    operator, colon, operand = value.partition(":")
    if not colon:
        raise bad_request(
            "Badly formatted name parameter. Expected name query string parameter in form: "
            f'?name=[in|startswith]:[name1,name2|prefix]. Got: "{value}"'
        )
    if operator == "in":
        return {"names": operand.split(",")}
    # PARITY: an unknown operator filters nothing.
    return {"prefix": operand} if operator == "startswith" else {}
