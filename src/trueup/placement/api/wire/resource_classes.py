# SPDX-License-Identifier: Apache-2.0
"""Resource classes on the wire: their names, which operators may choose."""

from collections.abc import Iterable
from typing import Any

from trueup.placement.api.http import Request
from trueup.placement.api.wire.schema import (
    CUSTOM_PATTERN,
    Checked,
    Field,
    Object,
    refuse_line_break,
)

NAMED = Checked(
    Object(
        Field(
            "name",
            {"type": "string", "pattern": CUSTOM_PATTERN, "maxLength": 255},
            required=True,
        )
    )
)


def parse_name(request: Request) -> str:
    """The name in a body. Raises Refused."""
    name: str = NAMED.parse(request)["name"]
    refuse_line_break(name)
    return name


def refuse_bad_name(name: str, request: Request) -> None:
    """Raise Refused unless an operator may make a class of this name."""
    NAMED.check({"name": name}, request.version)
    refuse_line_break(name)


def render(name: str, request: Request) -> dict[str, Any]:
    """A resource class."""
    return render_each([name], request)[0]


def render_each(names: Iterable[str], request: Request) -> list[dict[str, Any]]:
    """Resource classes."""
    path = f"{request.root_path}/resource_classes/"
    return [{"name": name, "links": [{"rel": "self", "href": path + name}]} for name in names]
