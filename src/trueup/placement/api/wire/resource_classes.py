# SPDX-License-Identifier: Apache-2.0
"""Resource classes in requests and answers, and the names that operators may choose."""

from functools import lru_cache
from typing import Any

import orjson

from trueup.placement.api.http import Request
from trueup.placement.api.wire.schema import (
    CUSTOM_PATTERN,
    Checked,
    Field,
    Object,
    refuse_line_break,
)

_LISTS_KEPT = 8

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
    return _rendered(name, request.root_path)


@lru_cache(maxsize=_LISTS_KEPT)
def render_all(names: tuple[str, ...], root_path: str) -> bytes:
    """All resource classes, for a service at this path.

    PERF: cached, because they rarely change and clients read them often.
    """
    return orjson.dumps({"resource_classes": [_rendered(name, root_path) for name in names]})


def _rendered(name: str, root_path: str) -> dict[str, Any]:
    href = f"{root_path}/resource_classes/{name}"
    return {"name": name, "links": [{"rel": "self", "href": href}]}
