# SPDX-License-Identifier: Apache-2.0
"""Inventories, traits and aggregates of a provider: each replaced whole, at its generation."""

from collections.abc import Callable
from typing import Any, Literal

from trueup.reconcile.changes.target import Found, Reply, generation_after, reply_of
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import Change, State

# The part's name in Placement's URLs, and its field in Placement's documents.
Part = Literal["inventories", "traits", "aggregates"]

_OK = 200


def read_part(part: Part, provider: str, cloud: Cloud, state: Callable[[Any], State]) -> Found:
    """A part as `state` makes it from Placement's document; the version is the generation."""
    row = cloud.placement.document(f"/resource_providers/{provider}/{part}")
    if row is None:
        return Found(None, {provider: None})
    return Found(state(row[part]), {provider: row["resource_provider_generation"]})


def replace_part(part: Part, change: Change, cloud: Cloud, content: Any) -> Reply:
    """Replace a part by `content`, as Placement writes it, if the generation still is the same."""
    ((provider, generation),) = change.version.items()
    body = {"resource_provider_generation": generation, part: content}
    path = f"/resource_providers/{provider}/{part}"
    return reply_of(cloud.placement.send("PUT", path, body), _OK, generation_after(change))
