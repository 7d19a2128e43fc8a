# SPDX-License-Identifier: Apache-2.0
"""The usages of a provider and of a project."""

from collections.abc import Iterable, Mapping
from typing import Any

from trueup.model.usages import TypeUsage
from trueup.placement.api.versions import V
from trueup.placement.api.wire.schema import CLASS_PATTERN, Checked, Field, Object

_EXTERNAL_ID = {"type": "string", "minLength": 1, "maxLength": 255}

LIST_USAGES = Checked(
    Object(
        Field("project_id", _EXTERNAL_ID, required=True),
        Field("user_id", _EXTERNAL_ID),
        Field(
            "consumer_type",
            # PARITY: a value that begins with "all" passes, and matches no type.
            {**_EXTERNAL_ID, "pattern": f"{CLASS_PATTERN}|^all|^unknown$"},
            since=V.CONSUMER_TYPES,
        ),
    )
)


def render_of_provider(amounts: Mapping[str, int], generation: int) -> dict[str, Any]:
    """The usages of a provider, by resource class."""
    return {"resource_provider_generation": generation, "usages": dict(amounts)}


def render_by_type(usages: Iterable[TypeUsage]) -> dict[str, Any]:
    """The usages of a project, by consumer type and then by resource class."""
    return {
        "usages": {
            usage.consumer_type: {**usage.amounts, "consumer_count": usage.consumers}
            for usage in usages
        }
    }
