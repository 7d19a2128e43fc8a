# SPDX-License-Identifier: Apache-2.0
"""Inventories, traits and aggregates of a provider: each replaced whole, at its generation.

The generation moves with each allocation, and with a write to any other part. So a part that is as
it was counts as unwritten at whatever generation.
"""

from collections.abc import Callable
from dataclasses import replace
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


def replace_part(
    part: Part, change: Change, cloud: Cloud, content: Any, read: Callable[[Any, Cloud], Found]
) -> Reply:
    """Replace a part by `content`, as Placement writes it, if the generation still is the same.

    If it is another one, and the part as `read` now is what it was before, the refusal names the
    generation that came with it. SAFETY: whoever writes to the part meanwhile moves that one too.
    """
    ((provider, generation),) = change.version.items()
    body = {"resource_provider_generation": generation, part: content}
    path = f"/resource_providers/{provider}/{part}"
    reply = reply_of(cloud.placement.send("PUT", path, body), _OK, generation_after(change))
    found = read(change.target, cloud) if reply.conflict else None
    if found is None or found.state != change.before:
        return reply
    return replace(reply, named=found.version)
