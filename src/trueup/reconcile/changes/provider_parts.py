# SPDX-License-Identifier: Apache-2.0
"""Inventories, traits and aggregates of a provider: each replaced whole, at its generation.

The generation moves with each allocation, and with a write to any other part. So an unchanged part
counts as unwritten at any generation.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from trueup.reconcile.changes.target import Found, Reply, generation_after, reply_of
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import (
    Aggregates,
    AggregatesOf,
    Change,
    Inventories,
    InventoriesOf,
    InventoryFields,
    State,
    Traits,
    TraitsOf,
    Version,
)

_OK = 200


@dataclass(frozen=True, slots=True)
class ProviderPart:
    """A part, by its name in Placement's URLs and documents, with the conversions of its state.

    `content` converts a state to what Placement accepts.
    """

    name: str
    state: Callable[[Any], State]
    content: Callable[[Any], Any]

    def read(self, target: InventoriesOf | TraitsOf | AggregatesOf, cloud: Cloud) -> Found:
        """The part as it is now; the version is the generation."""
        provider = target.provider
        row = cloud.placement.document(f"/resource_providers/{provider}/{self.name}")
        if row is None:
            return Found(None, {provider: None})
        version = {provider: row["resource_provider_generation"]}
        return Found(self.state(row[self.name]), version)

    def write(self, change: Change, cloud: Cloud) -> Reply:
        """Replace the part, if the generation is still the same.

        If the generation is another but the part is unchanged, the reply names the generation that
        was read with the part. SAFETY: any write to the part meanwhile changes that generation too.
        Placement refuses to remove an inventory that is allocated.
        """
        ((provider, generation),) = change.version.items()
        body = {"resource_provider_generation": generation, self.name: self.content(change.after)}
        path = f"/resource_providers/{provider}/{self.name}"
        reply = reply_of(cloud.placement.send("PUT", path, body), _OK, generation_after(change))
        assert isinstance(change.target, InventoriesOf | TraitsOf | AggregatesOf)
        found = self.read(change.target, cloud) if reply.conflict else None
        if found is None or found.state != change.before:
            return reply
        return replace(reply, named=found.version)

    def version_after(self, change: Change) -> Version:
        """The next generation."""
        return generation_after(change)


def fields_by_class(rows: Mapping[str, Any]) -> dict[str, InventoryFields]:
    """Inventories from Placement's document of them."""
    return {name: msgspec.convert(row, InventoryFields) for name, row in sorted(rows.items())}


def documents(inventories: Mapping[str, InventoryFields]) -> dict[str, dict[str, Any]]:
    """Inventories in Placement's form."""
    return {name: msgspec.structs.asdict(row) for name, row in inventories.items()}


INVENTORIES = ProviderPart(
    "inventories",
    lambda rows: Inventories(fields_by_class(rows)),
    lambda after: documents(after.by_class),
)
TRAITS = ProviderPart(
    "traits", lambda names: Traits(tuple(sorted(names))), lambda after: list(after.names)
)
# The uuid of an aggregate may be NULL.
AGGREGATES = ProviderPart(
    "aggregates",
    lambda uuids: Aggregates(tuple(sorted(uuid or "" for uuid in uuids))),
    lambda after: list(after.uuids),
)
